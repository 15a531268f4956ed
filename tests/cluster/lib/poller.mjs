// Runs on a host of the test network: asks the agent there for /pool and /status every few
// milliseconds and prints one JSON line whenever an answer differs from the one before, or was long in coming.
//
//   {"k":"pool",   "t":ms, "asked":ms, "code":200, "stale":false, "body":"…"}
//   {"k":"status", "t":ms, "asked":ms, "code":200, "d":{…}}
//   {"k":"pool",   "t":ms, "asked":ms, "code":0, "error":"ECONNREFUSED"}
//                  t, asked: CLOCK_MONOTONIC when it was read, and when it was asked for
//   {"k":"late",   "t":ms, "ms":120}   nothing could be asked for so long: the machine was busy
//   {"k":"reply",  "id":1, …}          to a command on stdin: {"id":1,"get":"/ready","port":8080},
//                                      or {"id":2,"sync":true}
//
// usage: node poller.mjs PERIOD_MS POOL_PORT STATUS_PORT
import http from 'node:http';
import readline from 'node:readline';
import { Connection, header } from './http-raw.mjs';
import { now } from './sh.mjs';

const [period, poolPort, statusPort] = process.argv.slice(2).map(Number);
const TIMEOUT_MS = 1000;
const LATE_MS = 20;
const emit = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

// What a test may wait for; ages and counters change all the time and are asked for when needed.
function digest(body) {
  const status = JSON.parse(body);
  return {
    node: status.node,
    incarnation: status.incarnation,
    groups: status.groups.map((group) => ({
      name: group.name, state: group.state, reason: group.reason, avg: group.avg,
      standby: group.standby, term: group.term, version: group.table_version,
      minority: group.minority, weight: group.weight, eligible: group.eligible,
      draining: group.draining, changes: group.state_changes,
      alive: group.members.filter((member) => member.alive).map((member) => member.node),
    })),
  };
}

class Watch {
  constructor(kind, path, port, read) {
    Object.assign(this, { kind, port, read, last: null, due: now() });
    this.request = `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`;
    this.step();
  }

  async step() {
    const started = now();
    if (started - this.due > LATE_MS)
      emit({ k: 'late', t: started, ms: Math.round(started - this.due) });
    const sample = await this.sample();
    this.say(sample, started, now() - started > LATE_MS);
    this.due = Math.max(started + period, now());
    setTimeout(() => this.step(), Math.max(1, Math.floor(this.due - now())));
  }

  async sample() {
    if (!this.connection || this.connection.gone)
      this.connection = new Connection({ port: this.port });
    const { connection } = this;
    const timer = setTimeout(() => connection.end('timeout'), TIMEOUT_MS);
    try {
      const response = await connection.ask(this.request);
      return this.changed(response);
    } catch (error) {
      this.bytes = null;
      return { code: 0, error: error.message };
    } finally {
      clearTimeout(timer);
    }
  }

  // The body is looked at only when its bytes changed.
  changed({ code, head, body }) {
    const stale = header(head, 'GLBP-Stale') === '1';
    if (this.bytes?.equals(body) && this.code === code && this.stale === stale) return this.last;
    Object.assign(this, { bytes: Buffer.from(body), code, stale });
    return { code, stale, ...this.read(code, body.toString()) };
  }

  // What came late is said even if it is nothing new: a process that stood still answers now.
  say(sample, asked, late) {
    if (sample === this.last && !late) return;
    const text = JSON.stringify(sample);
    if (text === this.text && !late) return;
    Object.assign(this, { last: sample, text });
    emit({ k: this.kind, t: now(), asked, ...sample });
  }
}

function get(id, path, port, headers, method = 'GET') {
  const request = http.request({ port, path, method, headers, host: '127.0.0.1', agent: false,
    timeout: 3000 }, (response) => {
    const chunks = [];
    response.on('data', (chunk) => chunks.push(chunk));
    response.on('end', () => emit({ k: 'reply', id, t: now(), code: response.statusCode,
      headers: response.headers, body: Buffer.concat(chunks).toString() }));
  });
  request.on('timeout', () => request.destroy(new Error('timeout')));
  request.on('error', (error) => emit({ k: 'reply', id, t: now(), code: 0, error: error.code
    ?? error.message }));
  request.end();
}

new Watch('pool', '/pool', poolPort, (code, body) => ({ body }));
new Watch('status', '/status', statusPort,
  (code, body) => (code === 200 ? { d: digest(body) } : { body }));

readline.createInterface({ input: process.stdin }).on('line', (line) => {
  const command = JSON.parse(line);
  if (command.sync) emit({ k: 'reply', id: command.id, t: now() });
  else get(command.id, command.get, command.port, command.headers, command.method);
}).on('close', () => process.exit(0));
