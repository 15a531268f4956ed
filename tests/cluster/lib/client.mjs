// Runs on a host of the test network: K frontends. Each, again and again, asks one agent for the
// pool, keeps the better of two (protocol.md section 8), calls a gateway of it, and, when that one
// fails, once another.
//
//   {"k":"failed", "t":ms, "end":ms, "why":"bff-1 timeout, bff-2 503"}   both calls failed
//   {"k":"empty",  "t":ms, "agent":"10.77.0.1"}                          a pool without a gateway
//   {"k":"late",   "t":ms, "ms":120}                                     the machine was busy
//   {"id":1,"count":true}  -> {"calls":n,"retried":n,"unserved":n,"polls":n,"unanswered":n}
//
// usage: node client.mjs K PAUSE_MS HOLD_MS AGENT_ADDRESS…
import http from 'node:http';
import readline from 'node:readline';
import { now, sleep } from './sh.mjs';

const [loops, pause, hold] = process.argv.slice(2, 5).map(Number);
const agents = process.argv.slice(5);
const POOL_MS = 1000;
const CALL_MS = 2000;
const LATE_MS = 50;
const count = { calls: 0, retried: 0, unserved: 0, polls: 0, unanswered: 0 };
const emit = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
const anyOf = (list) => list[Math.floor(Math.random() * list.length)];

/** The body of a 200; rejects with one word otherwise. */
function get(url, timeout) {
  return new Promise((resolve, reject) => {
    const request = http.get(url, { agent: false }, (response) => {
      const chunks = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('error', (error) => reject(error));
      response.on('end', () => {
        if (response.statusCode === 200) resolve(Buffer.concat(chunks).toString());
        else reject(new Error(String(response.statusCode)));
      });
    });
    const timer = setTimeout(() => request.destroy(new Error('timeout')), timeout);
    request.on('close', () => clearTimeout(timer));
    request.on('error', (error) => reject(new Error(error.code ?? error.message)));
  });
}

const stamp = (a, b) => a.term - b.term || (a.avg < b.avg ? -1 : a.avg > b.avg ? 1 : 0)
  || a.version - b.version;
const outranks = (a, b) => (a.majority === b.majority ? b.lone && !a.lone : a.majority);

class Frontend {
  constructor() {
    this.pool = null;
    this.polls = 0;
    this.at = 0;
  }

  take(pool) {
    const order = this.pool ? stamp(pool, this.pool) : 1;
    if (order >= 0) Object.assign(this, { polls: 0, at: now() });
    else this.polls++;
    const forgotten = this.polls >= 3 && now() - this.at >= 2 * hold;
    if (order > 0 || forgotten || (order < 0 && outranks(pool, this.pool)))
      Object.assign(this, { pool, polls: 0, at: now() });
  }

  async poll() {
    const agent = anyOf(agents);
    count.polls++;
    let body;
    try {
      body = await get(`http://${agent}:8080/pool/web`, POOL_MS);
    } catch {
      count.unanswered++;
      return;
    }
    const pool = JSON.parse(body);
    if (pool.gateways.length === 0) emit({ k: 'empty', t: now(), agent });
    this.take(pool);
  }

  /** One of those alive but `not`, in proportion to weight; of all, when there is no other. */
  choose(not) {
    const { gateways } = this.pool;
    const other = gateways.filter((g) => g.url !== not);
    const alive = other.filter((g) => g.alive && g.weight > 0);
    const list = [alive, other, gateways].find(({ length }) => length > 0);
    let at = Math.random() * list.reduce((sum, { weight }) => sum + weight, 0);
    return list.find((g) => (at -= g.weight) < 0) ?? list[0];
  }

  async call() {
    const t = now();
    const why = [];
    count.calls++;
    for (let tries = 0, last; tries < 2; tries++) {
      const gateway = this.choose(last);
      last = gateway.url;
      try {
        await get(`${gateway.url}/api/whoami`, CALL_MS);
        return;
      } catch (error) {
        why.push(`${gateway.url} (${gateway.state}) ${error.message}`);
        if (tries === 0) count.retried++;
      }
    }
    count.unserved++;
    const { term, avg, version, majority } = this.pool;
    emit({ k: 'failed', t, end: now(), why: why.join(', '),
      pool: `${term}.${avg}.${version} majority=${majority}` });
  }

  async run() {
    for (;;) {
      await this.poll();
      if (this.pool) await this.call();
      await sleep(pause * (0.5 + Math.random()));
    }
  }
}

for (let k = 0; k < loops; k++) new Frontend().run();
let due = now();
setInterval(() => {
  const late = now() - due;
  due = now() + 20;
  if (late > LATE_MS) emit({ k: 'late', t: now(), ms: Math.round(late) });
}, 20);
readline.createInterface({ input: process.stdin }).on('line', (line) =>
  emit({ k: 'reply', id: JSON.parse(line).id, ...count })).on('close', () => process.exit(0));
