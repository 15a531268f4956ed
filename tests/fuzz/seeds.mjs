#!/usr/bin/env node
// Inputs to begin with, made from what others keep: golden datagrams and configs, words of HTTP and
// of the control socket.
//   tests/fuzz/seeds.mjs DIRECTORY    a folder a target
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const GOLDEN = join(dirname(fileURLToPath(import.meta.url)), '../golden');
const HEADER = 40;
const out = process.argv[2];
if (!out) {
  console.error('usage: tests/fuzz/seeds.mjs DIRECTORY');
  process.exit(2);
}

function put(target, name, bytes) {
  mkdirSync(join(out, target), { recursive: true });
  writeFileSync(join(out, target, name), bytes);
}
const golden = (folder, end) => readdirSync(join(GOLDEN, folder)).filter((name) => name.endsWith(end))
  .map((name) => [name.slice(0, -end.length), readFileSync(join(GOLDEN, folder, name))]);

// ---- datagrams: the kind is the value of the first key ----
const KINDS = ['hello', 'slice', 'resign'];
for (const [name, file] of golden('wire', '.txt')) {
  const hex = file.toString().split('[reading]')[0].replace(/#.*/g, '').replace(/\s/g, '');
  const datagram = Buffer.from(hex, 'hex');
  const payload = datagram.subarray(HEADER);
  const kind = payload[payload[0] === 0xde ? 4 : 2];
  put(KINDS[kind], name, payload);
  put('envelope', name, Buffer.concat([Buffer.from([0, 0, 0, 0, 0]), datagram]));
  put('envelope', `${name}-sealed`, Buffer.concat([Buffer.from([1, 2, 1, 0, 77]), payload]));
}

put('envelope', 'chain', Buffer.from([5, 2, 0, 5, 1, 0, 4, 0, 4, 2, 3, 255, 3, 255]));
put('envelope', 'chain-stale', Buffer.from([5, 3, 1, 20, 9, 0, 4, 0, 6, 2, 30, 40, 30, 40, 7, 4, 6, 1, 4]));
put('envelope', 'chain-twice', Buffer.from([5, 2, 0, 5, 1, 0, 4, 0, 4, 1, 3, 255, 3, 255]));

// ---- configs ----
const configs = golden('config', '.json');
for (const [name, text] of configs) put('config', name, text);
put('config', 'load', 'load');
put('config', 'load-file', Buffer.concat([Buffer.from('load\n'), configs[0][1]]));
const whole = '{"node":"a","cluster":"c","state_dir":"/s","control":"/c","log":{"level":"debug"},'
  + '"transport":{"listen":"127.0.0.1:1","peers":["b","[::1]:5"]},"http":{"threads":2,"listen":"",'
  + '"cors":["http://a"],"hosts":["a"],"url":"http://a"},"url_allow":["http://*:*"],"groups":'
  + '[{"name":"web","id":1,"url":"http://a"},{"name":"x","id":2,"url":"http://a","checks":'
  + '[{"file":"/f","drain":true},{"url":"http://a/?b","headers":["A: b"],"body":"x","unix":"/u"}]}]}';
put('config', 'whole', whole);
put('config', 'reload', `${whole}\n===\n${whole.replace('"node":"a"', '"node":"b"')
  .replace('"name":"web","id":1', '"name":"y","id":3,"max_members":9').replace('/s', '/t')}`);
put('config', 'reload-order', `{"node":"a","groups":[{"name":"a","id":1},{"name":"b","id":2}]}\n===\n`
  + '{"node":"a","groups":[{"name":"b","id":2},{"name":"c","id":1,"max_forwarders":3}]}');
for (const file of ['good', 'spare', 'open', 'short', 'long', 'words', 'dash', 'none', '.'])
  put('config', `key-${file}`, '{"node":"a","auth":{"keys":[{"id":1,"file":"/proc/self/fd/200/'
    + `${file}","send_from":"2026-12-31T00:00:00Z"}]}}`);
for (const transport of ['"multicast":{"interface":"lo"}', '"advertise":"10.0.0.1:5"',
  '"listen":"[::]:3222","peers":["fe80::1%lo","[::1]"]', '"peers":["127.0.0.1"]',
  '"listen":"10.0.0.1"', '"multicast":{"group":"ff02::7","ttl":3}'])
  put('config', `transport-${transport.replace(/\W/g, '')}`, `{"transport":{${transport}}}`);

// ---- the control socket ----
const lines = ['{"cmd":"status"}', '{"cmd":"pool","group":"web"}', '{"cmd":"members"}',
  '{"cmd":"events","last":10,"follow":true}', '{"cmd":"drain","group":"all"}',
  '{"cmd":"undrain","group":"10"}', '{"cmd":"weight","group":"web","weight":50}',
  '{"cmd":"weight","group":"web","weight":"auto"}', '{"cmd":"resign","group":"web"}',
  '{"cmd":"reload"}', '{"cmd":"version"}', '{"cmd":"weight","group":"web"}', '{"cmd":"drain"}',
  '{"cmd":"no"}', '[]', '{', '{"cmd":"status","x":1}', '{"cmd":"events","last":-1}',
  '{"cmd":"events","follow":1}', '{"cmd":"weight","group":"web","weight":70000}',
  '{"cmd":"pool","group":""}', '{"cmd":7}'];
lines.forEach((line, k) => put('control', `line-${k}`, line));

// ---- the state file ----
const be = (value, width) => Buffer.from(BigInt(value).toString(16).padStart(2 * width, '0'), 'hex');
function pack(value) {
  if (Array.isArray(value))
    return Buffer.concat([Buffer.from([0x90 | value.length]), ...value.map(pack)]);
  if (typeof value === 'string')
    return Buffer.concat([Buffer.from([0xd9, value.length]), Buffer.from(value)]);
  return value < 128 ? Buffer.from([value]) : Buffer.concat([Buffer.from([0xcf]), be(value, 8)]);
}
const member = (node) => [0, node, '10.0.0.1', 3222, `http://${node}`, 100, 2, ''];
const table = pack([[1796000000000, 'a', 7], ['web', 'b', 1, 0, 5000, 3500],
  [member('a'), member('b'), [1, 'a', 'a', 100, 0, 0, 0], [2, 'b', '', 0, 9, 4, 3000]]]);
const record = (id, term, bytes) => [be(id, 4), be(term, 8), be(bytes.length, 4), bytes];
const body = (...records) => Buffer.concat([Buffer.from([1, 1]), Buffer.from('a'),
  be(1796000000000, 8), be(records.length, 4), ...records.flat()]);
put('state', 'none', body());
put('state', 'one', body(record(10, 9, table)));
put('state', 'three', body(record(11, 1, Buffer.alloc(0)), record(3, 2, table), record(10, 1, table)));
put('state', 'twice', body(record(3, 1, table), record(3, 2, table)));
put('state', 'raw', Buffer.concat([Buffer.from([0]), Buffer.from('GLBS'), be(1, 4), be(0, 4),
  Buffer.alloc(32)]));

// ---- HTTP ----
const requests = ['GET /pool HTTP/1.1\r\nHost: a.example.com\r\n\r\n',
  'GET /pool/web HTTP/1.1\nhost: a.example.com\nIf-None-Match: "x", W/"1.a.1-0123456789abcdef", *\n\n',
  'GET /next/web?client=a%20b HTTP/1.1\r\nHost: a.example.com\r\nAccept: text/plain;q=0.5, */*\r\n\r\n',
  'HEAD /next/10 HTTP/1.0\r\n\r\n', 'OPTIONS * HTTP/1.1\r\nHost: a.example.com:80\r\n\r\n',
  'GET /health HTTP/1.1\r\nHost: a.example.com\r\n\r\nGET /ready HTTP/1.1\r\nHost: a.example.com\r\n\r\n',
  'GET http://a.example.com/status HTTP/1.1\r\nHost: x\r\n\r\n',
  'GET /metrics HTTP/1.1\r\nHost: localhost\r\nOrigin: http://b\r\nConnection: close\r\n\r\n',
  'POST /pool HTTP/1.1\r\nHost: a.example.com\r\nContent-Length: 3\r\n\r\nabc',
  'GET / HTTP/1.1\r\nHost: a.example.com\r\nContent-Length: 0\r\n\r\n',
  'GET / HTTP/1.1\r\nHost: a.example.com\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  'GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n', 'GET / HTTP/1.1\r\nHo st: a\r\n\r\n',
  'GET / HTTP/1.1\r\nHost: a.example.com\r\nX: b\r\n c\r\n\r\n', 'GET /%00 HTTP/1.1\r\nHost: a\r\n\r\n'];
requests.forEach((text, k) => [0, 1].forEach((admin) =>
  put('http', `request-${k}-${admin}`, Buffer.concat([Buffer.from([admin]), Buffer.from(text)]))));
const fields = [['/pool/%77eb%00%zz?client=%', '%'],
  ['W/"1796000000000.bff-1.17-0123456789abcdef", "1796000000000.bff-1.17-0123456789abcdef"', '*',
    ' , "a'],
  ['text/plain', 'application/json, text/plain, */*', 'text/*;q=0.9;x, application/*;q=1.000',
    'text/plain;q=2'],
  ['shop.example.com:80', '[2001:db8::1]:8080', '10.0.0.1:8080', 'localhost', '[::1', '[::1]', '']];
fields.forEach((list, part) => list.forEach((text, k) =>
  put('query', `part-${part}-${k}`, Buffer.concat([Buffer.from([part]), Buffer.from(text)]))));

// ---- sequences: any bytes are one ----
let random = 1n;
for (let k = 0; k < 32; k++)
  put('group', `random-${k}`, Buffer.from(Array.from({ length: 64 + 40 * k }, () => {
    random = (random * 6364136223846793005n + 1442695040888963407n) & 0xffffffffffffffffn;
    return Number(random >> 56n);
  })));
