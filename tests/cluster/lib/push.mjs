// Runs on a host of the test network: event streams and long polls of an agent, as a browser's.
//
//   {"id":1,"stream":"a","path":"/events/web","last":"ID"}   opens it -> {"code":n,"head":"…"}
//   {"id":2,"events":"a"}   -> {"events":[{"t":ms,"id":"…","event":"…","data":"…"}],"ended":ms|null}
//   {"id":3,"poll":"/pool/web?wait=…"}   -> {"code":n,"stamp":"…","t":ms} when it is answered
//   {"id":4,"stall":"a"}    reads it no more
//   {"id":5,"close":"a"}
//
// usage: node push.mjs HOST PORT
import net from 'node:net';
import readline from 'node:readline';
import { Connection, header } from './http-raw.mjs';
import { now } from './sh.mjs';

const [host, port] = process.argv.slice(2);
const streams = new Map();

class Stream {
  constructor(path, last) {
    Object.assign(this, { events: [], ended: null, raw: '', text: '', head: null });
    // Read into a buffer of our own, pause() stops at once; else Node would read ahead.
    this.socket = net.connect({ host, port: Number(port), onread: {
      buffer: Buffer.alloc(65536),
      callback: (n, buffer) => {
        this.take(buffer.latin1Slice(0, n));
        return true;
      },
    } });
    this.opened = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.socket.on('error', (error) => {
        this.ended ??= now();
        reject(error);
      });
    });
    this.opened.catch(() => {});
    this.socket.on('close', () => { this.ended ??= now(); });
    this.socket.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\n${
      last ? `Last-Event-ID: ${last}\r\n` : ''}\r\n`);
  }

  take(data) {
    this.raw += data;
    if (this.head === null) {
      const end = this.raw.indexOf('\r\n\r\n');
      if (end < 0) return;
      this.head = this.raw.slice(0, end);
      this.raw = this.raw.slice(end + 4);
      this.resolve();
    }
    for (let chunk; (chunk = /^([0-9A-Fa-f]+)\r\n/.exec(this.raw));) {
      const size = parseInt(chunk[1], 16);
      if (this.raw.length < chunk[0].length + size + 2) break;
      this.text += this.raw.substr(chunk[0].length, size);
      this.raw = this.raw.slice(chunk[0].length + size + 2);
      if (size === 0) this.ended ??= now();
    }
    for (let end; (end = this.text.indexOf('\n\n')) >= 0; this.text = this.text.slice(end + 2))
      this.block(this.text.slice(0, end));
  }

  block(text) {
    const fields = { t: now(), data: [] };
    for (const line of text.split('\n')) {
      const [, name, value] = /^([a-z]*): ?(.*)$/.exec(line) ?? [];
      if (name === 'data') fields.data.push(value);
      else if (name) fields[name] = value;
    }
    this.events.push({ ...fields, data: fields.data.join('\n') });
  }
}

async function answer({ id, ...command }) {
  const reply = { k: 'reply', id };
  try {
    if (command.stream) {
      const stream = new Stream(command.path, command.last);
      streams.set(command.stream, stream);
      await stream.opened;
      Object.assign(reply, { code: Number(stream.head.slice(9, 12)), head: stream.head });
    } else if (command.events) {
      const { events, ended } = streams.get(command.events);
      Object.assign(reply, { events, ended });
    } else if (command.poll) {
      const connection = new Connection({ host, port: Number(port) });
      const { code, head } = await connection.ask(
        `GET ${command.poll} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
      Object.assign(reply, { code, stamp: header(head, 'GLBP-Stamp'), t: now() });
      connection.end('done');
    } else if (command.stall) streams.get(command.stall).socket.pause();
    else if (command.close) streams.get(command.close).socket.destroy();
  } catch (error) {
    reply.failed = error.message;
  }
  process.stdout.write(`${JSON.stringify(reply)}\n`);
}

readline.createInterface({ input: process.stdin }).on('line', (line) => answer(JSON.parse(line)))
  .on('close', () => process.exit(0));
