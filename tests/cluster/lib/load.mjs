// Runs on a host of the test network: holds idle connections, and asks for /pool as fast as one
// process can.
//
//   {"id":1,"idle":2000}      opens so many connections that ask once and stay     -> {"open":n}
//   {"id":2,"saturate":16}    that many connections, each asking again at once     -> {}
//   {"id":4,"reset":2000}     asks and resets the connection before the answer, so many times
//   {"id":3,"stop":true}      -> {"requests":n,"failed":n,"empty":n,"rate":per second}
//
// usage: node load.mjs HOST PORT
import net from 'node:net';
import readline from 'node:readline';
import { Connection } from './http-raw.mjs';
import { now, sleep } from './sh.mjs';

const [host, port] = process.argv.slice(2);
const REQUEST = `GET /pool HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
const idle = [];
const count = { requests: 0, failed: 0, empty: 0 };
let running = false;
let started = 0;

const connect = () => new Connection({ host, port: Number(port) });

async function openIdle(n) {
  for (let k = 0; k < n; k += 50) {
    const batch = Array.from({ length: Math.min(50, n - k) }, connect);
    const opened = await Promise.allSettled(batch.map((connection) => connection.ask(REQUEST)));
    idle.push(...batch.filter((_, i) => opened[i].status === 'fulfilled'));
  }
}

async function reset(n) {
  for (let k = 0; k < n; k += 50)
    await Promise.all(Array.from({ length: Math.min(50, n - k) }, () => new Promise((resolve) => {
      const socket = net.connect(Number(port), host, () => {
        socket.write(REQUEST);
        setImmediate(() => socket.resetAndDestroy());
      });
      socket.on('error', () => {});
      socket.on('close', resolve);
    })));
}

async function saturate() {
  let connection = connect();
  while (running) {
    try {
      const { code, body } = await connection.ask(REQUEST);
      count.requests++;
      if (code !== 200) count.failed++;
      else if (body.includes('"gateways": []') || body.includes('"gateways":[]')) count.empty++;
    } catch {
      count.failed++;
      await sleep(5);
      connection = connect();
    }
  }
  connection.end('done');
}

async function answer({ id, ...command }) {
  const reply = { k: 'reply', id };
  if (command.idle) {
    await openIdle(command.idle);
    reply.open = idle.filter((connection) => !connection.gone).length;
  } else if (command.reset) await reset(command.reset);
  else if (command.saturate) {
    running = true;
    started = now();
    for (let k = 0; k < command.saturate; k++) saturate();
  } else if (command.stop) {
    running = false;
    Object.assign(reply, count, { rate: Math.round((count.requests * 1000) / (now() - started)),
      open: idle.filter((connection) => !connection.gone).length });
  }
  process.stdout.write(`${JSON.stringify(reply)}\n`);
}

readline.createInterface({ input: process.stdin }).on('line', (line) => answer(JSON.parse(line)))
  .on('close', () => process.exit(0));
