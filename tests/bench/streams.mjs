#!/usr/bin/env node
// Measures event streams and long polls of one real agent on loopback: how long until all have a
// change, what they cost while nothing changes, and what one takes of memory.
//
//   tests/bench/streams.mjs [--streams 5000] [--changes 10] [--calm 20] [--polls]
//
//   --calm   seconds in which nothing changes
//   --polls  long polls instead of streams
//   GLBPD    the agent to measure (default build/release/bin/glbpd)
//
// The client runs on the same machine and reads all of them in one thread: its time is in the
// figures. It connects from 127.0.0.2 and up, each within http.limits.per_address.
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Figure, median, table } from './stats.mjs';

const ROOT = resolve(fileURLToPath(import.meta.url), '../../..');
const GLBPD = resolve(process.env.GLBPD ?? join(ROOT, 'build/release/bin/glbpd'));
const GLBPCTL = join(GLBPD, '../glbpctl');
const PORT = 18080;
const PER_ADDRESS = 500;
const BAR_MS = 1000;
const PATIENCE_MS = 30000;

const { values: options } = parseArgs({ options: {
  streams: { type: 'string', default: '5000' }, changes: { type: 'string', default: '10' },
  calm: { type: 'string', default: '20' }, polls: { type: 'boolean', default: false },
} });
const N = Number(options.streams);
const FILES = 2 * N + 1000;
const sleep = (ms) => new Promise((done) => { setTimeout(done, ms); });

if (!process.env.GLBP_BENCH_FILES) {
  const { status } = spawnSync('prlimit', [`--nofile=${FILES}:${FILES}`, process.execPath,
    ...process.argv.slice(1)], { stdio: 'inherit',
    env: { ...process.env, GLBP_BENCH_FILES: String(FILES) } });
  process.exit(status ?? 1);
}

const dir = mkdtempSync(join(tmpdir(), 'glbp-streams-'));
const control = join(dir, 'run/control.sock');
const file = join(dir, 'gateway.json');
writeFileSync(file, JSON.stringify({
  node: 'bench-1', state_dir: '', control,
  transport: { listen: '127.0.0.1:13222', peers: ['127.0.0.9'] },
  http: { listen: `127.0.0.1:${PORT}`, admin_listen: '',
    limits: { connections: N + 100, per_address: PER_ADDRESS + 10, streams: N, polls: N } },
  // A file that is never there: the only check, and it never changes. Holds that no busy machine breaks.
  groups: [{ name: 'web', id: 10, url: 'http://127.0.0.1:13000',
    timers: { hello_ms: 1000, hold_ms: 20000 },
    checks: [{ name: 'none', file: join(dir, 'absent') }] }],
}));
const agent = spawn(GLBPD, ['-c', file], { stdio: ['ignore', 'ignore', 'inherit'] });
process.on('exit', () => {
  agent.kill('SIGKILL');
  rmSync(dir, { recursive: true, force: true });
});
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130));

/** Of the agent: CPU ticks of 10 ms so far, and KiB resident. */
const cpuTicks = () => {
  const fields = readFileSync(`/proc/${agent.pid}/stat`, 'latin1').split(') ')[1].split(' ');
  return Number(fields[11]) + Number(fields[12]);
};
const resident = () =>
  Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${agent.pid}/status`, 'latin1'))[1]);
const switches = () => {
  const text = spawnSync('sh', ['-c', `cat /proc/${agent.pid}/task/*/status`]).stdout.toString();
  return [...text.matchAll(/^voluntary_ctxt_switches:\s+(\d+)/gm)]
    .reduce((sum, [, n]) => sum + Number(n), 0);
};
const sockets = () => readFileSync('/proc/net/sockstat', 'latin1').match(/TCP:.* mem (\d+)/)[1];

/** Asks once: {stamp, body}, or null. */
async function ask() {
  try {
    const answer = await fetch(`http://127.0.0.1:${PORT}/pool/web`);
    return answer.ok ? { stamp: answer.headers.get('glbp-stamp') } : null;
  } catch {
    return null;
  }
}

// ---- the clients ----

let wanted = null; // bytes that the change brings
let arrived = [];
let got = 0; // whatever came, of all clients
let begun = 0;

class Client {
  constructor(k) {
    this.address = `127.0.0.${2 + Math.floor(k / PER_ADDRESS)}`;
    this.has = false;
  }

  open(request) {
    return new Promise((done, failed) => {
      this.socket = net.connect({ host: '127.0.0.1', port: PORT, localAddress: this.address });
      this.socket.on('connect', () => this.socket.write(request));
      this.socket.on('error', failed);
      this.socket.on('data', (data) => {
        got += 1;
        done();
        if (!wanted || this.has || !data.includes(wanted)) return;
        this.has = true;
        arrived.push(performance.now() - begun);
      });
    });
  }
}

const clients = Array.from({ length: N }, (_, k) => new Client(k));

/** One change, from glbpctl's word to the last client. */
async function change(weight, request) {
  if (options.polls) for (const { socket } of clients) socket.write(request);
  await sleep(1500); // all wait, nothing is under way
  for (const client of clients) client.has = false;
  wanted = `"weight":${weight},`;
  arrived = [];
  begun = performance.now();
  const ctl = spawn(GLBPCTL, ['--socket', control, 'weight', 'web', String(weight)],
    { stdio: 'ignore' });
  for (const end = begun + PATIENCE_MS; arrived.length < N && performance.now() < end;)
    await sleep(5);
  if (ctl.exitCode === null) await new Promise((done) => { ctl.once('exit', done); });
  if (arrived.length < N) throw new Error(`only ${arrived.length} of ${N} have the change`);
  return arrived;
}

const requestOf = async () => (options.polls
  ? `GET /pool/web?wait=60s&stamp=${(await ask()).stamp} HTTP/1.1\r\nHost: h\r\n\r\n`
  : 'GET /events/web HTTP/1.1\r\nHost: h\r\n\r\n');

for (const end = Date.now() + 20000; !(await ask()) && Date.now() < end;) await sleep(100);
await sleep(1000);
const what = options.polls ? 'long polls' : 'streams';
const before = resident();
const kernel = Number(sockets());
const openFrom = performance.now();
for (let k = 0; k < N; k += 100) {
  const first = options.polls ? 'GET /health HTTP/1.1\r\nHost: h\r\n\r\n' : await requestOf();
  await Promise.all(clients.slice(k, k + 100).map((client) => client.open(first)));
}
console.log(`${N} connections in ${((performance.now() - openFrom) / 1000).toFixed(1)} s; load ${
  loadavg().map((x) => x.toFixed(1)).join(' ')} at the start`);
if (options.polls) {
  const request = await requestOf();
  for (const { socket } of clients) socket.write(request);
}
await sleep(2000);
console.log(`${((resident() - before) / N).toFixed(1)} KiB resident for one of the ${what}, ${
  ((Number(sockets()) - kernel) * 4 / N).toFixed(1)} KiB of socket buffers`);

const calm = Number(options.calm);
const [ticks, wakes, heard] = [cpuTicks(), switches(), got];
await sleep(calm * 1000);
console.log(`${calm} s without a change: ${((cpuTicks() - ticks) / calm).toFixed(2)} % of a CPU, ${
  ((switches() - wakes) / calm).toFixed(0)} wake-ups a second of all threads, ${got - heard
} comments`);

const all = new Figure('', `a change until ${N} ${what} have it: the last one`, { max: BAR_MS });
const cost = new Figure('', 'CPU time of the agent for it');
const half = new Figure('', 'the same: the median one', { max: BAR_MS });
for (let run = 0; run < Number(options.changes); run++) {
  const request = options.polls ? await requestOf() : null;
  const from = cpuTicks();
  const times = await change(20 + run, request);
  cost.add((cpuTicks() - from) * 10);
  all.add(Math.max(...times));
  half.add(median(times));
}
console.log(`load ${loadavg().map((x) => x.toFixed(1)).join(' ')} at the end\n`);
if (loadavg()[0] > 2 * availableParallelism())
  console.log('The machine is busy: the times are those of the queue for a core, in which HTTP threads '
    + 'stand at nice 5; the CPU time is right.\n');
console.log(table([half, all, cost]));

const stopping = performance.now();
agent.kill('SIGTERM');
await new Promise((done) => { agent.once('exit', done); });
console.log(`\nSIGTERM with all of them open: ended after ${Math.round(performance.now() - stopping)} ms`);
process.exit(all.ok ? 0 : 1);
