// Runs on a host of the test network: a name server that answers A questions from a list, and
// everything else, or everything while it is "down", with SERVFAIL.
//
//   {"id":1,"names":{"agents.test":["10.77.0.1"]}}    answers from now on; {} fails for all;
//                                                     null: no answer at all
//
// usage: node dns.mjs ADDRESS
import dgram from 'node:dgram';
import readline from 'node:readline';

const TYPE_A = 1;
const SERVFAIL = 2;
const [address] = process.argv.slice(2);
let names = {};

function question(message) {
  const labels = [];
  let at = 12;
  for (let length = message[at]; length > 0; length = message[at]) {
    labels.push(message.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.').toLowerCase(), type: message.readUInt16BE(at + 1), end: at + 5 };
}

function answer(message) {
  const { name, type, end } = question(message);
  const known = names[name];
  const found = known && type === TYPE_A ? known : [];
  const head = Buffer.from(message.subarray(0, 12));
  head.writeUInt16BE(0x8180 | (known ? 0 : SERVFAIL), 2);
  head.writeUInt16BE(found.length, 6);
  head.writeUInt32BE(0, 8);
  const records = found.map((text) => Buffer.from([0xc0, 12, 0, TYPE_A, 0, 1, 0, 0, 0, 0, 0, 4,
    ...text.split('.').map(Number)]));
  return Buffer.concat([head, message.subarray(12, end), ...records]);
}

const socket = dgram.createSocket('udp4');
socket.on('message', (message, peer) => {
  if (names) socket.send(answer(message), peer.port, peer.address);
});
await new Promise((resolve) => socket.bind(53, address, resolve));
readline.createInterface({ input: process.stdin }).on('line', (line) => {
  const command = JSON.parse(line);
  names = command.names;
  process.stdout.write(`${JSON.stringify({ k: 'reply', id: command.id })}\n`);
}).on('close', () => process.exit(0));
