// Runs on a host of the test network: records the datagrams that are multicast there, and sends
// datagrams of any content. Commands on stdin, one JSON line each, answered by one line:
//
//   {"id":1,"record":true|false}        begins anew, or stops
//   {"id":2,"dump":true}                -> {"datagrams":["base64", …]}
//   {"id":3,"send":["base64", …],"to":"10.77.0.1","rate":5000,"rounds":1}   -> {"sent":n}
//
// usage: node tap.mjs GROUP ADDRESS    (multicast group, own address on eth0)
import dgram from 'node:dgram';
import readline from 'node:readline';
import { now, sleep } from './sh.mjs';

const [group, address] = process.argv.slice(2);
const PORT = 3222;
const six = group.includes(':');
let recording = false;
let datagrams = [];

const ears = dgram.createSocket({ type: six ? 'udp6' : 'udp4', reuseAddr: true });
const mouth = dgram.createSocket({ type: six ? 'udp6' : 'udp4', reuseAddr: true });
ears.on('message', (message) => {
  if (recording) datagrams.push(message.toString('base64'));
});

/** Sends in small batches, so that the receivers' buffers hold them all. */
async function send(list, to, rate, rounds) {
  const bytes = list.map((text) => Buffer.from(text, 'base64'));
  const start = now();
  let sent = 0;
  for (let round = 0; round < rounds; round++) {
    for (const datagram of bytes) {
      mouth.send(datagram, PORT, to);
      if (++sent % 16) continue;
      const ahead = (sent * 1000) / rate - (now() - start);
      await sleep(Math.max(1, ahead));
    }
  }
  await sleep(20);
  return sent;
}

async function answer({ id, ...command }) {
  const reply = { k: 'reply', id };
  if (command.dump) reply.datagrams = datagrams;
  else if (command.send) {
    reply.sent = await send(command.send, command.to ?? group, command.rate ?? 5000,
      command.rounds ?? 1);
  } else if (command.record !== undefined) {
    recording = command.record;
    if (recording) datagrams = [];
  }
  process.stdout.write(`${JSON.stringify(reply)}\n`);
}

await new Promise((resolve) => ears.bind(PORT, resolve));
ears.addMembership(group, six ? `${address}%eth0` : address);
await new Promise((resolve) => mouth.bind(PORT, address, resolve));
mouth.setMulticastInterface(six ? '::%eth0' : address);
mouth.setMulticastLoopback(false);
readline.createInterface({ input: process.stdin }).on('line', (line) => answer(JSON.parse(line)))
  .on('close', () => process.exit(0));
