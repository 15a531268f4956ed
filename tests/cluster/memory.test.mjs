// Memory that runs out: every allocation of an agent fails once, at its start and in a reload. It
// says so and ends in order, or goes on; it neither crashes nor leaks (the sanitizer looks).
//
//   MEMORY_STEP=1    every one of them; by default each 5th
import assert from 'node:assert/strict';
import { closeSync, existsSync, openSync, readSync, writeSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { Cluster, GLBPD } from './lib/cluster.mjs';
import { Process } from './lib/process.mjs';
import { now, sleep } from './lib/sh.mjs';

const NOMEM = join(GLBPD, '../glbpd-nomem');
const STEP = Number(process.env.MEMORY_STEP ?? 5);
const PATIENCE_MS = 20000;
const TROUBLE = /Sanitizer|runtime error:|assert(ion)? failed/i;
const SAID = /memory|no room|cannot/i;

/** The answer of the control socket to one line; null: none. */
function ask(path, request) {
  return new Promise((resolve) => {
    const socket = connect(path);
    let text = '';
    const end = () => {
      clearTimeout(timer);
      socket.destroy();
      resolve(text.endsWith('\n') ? JSON.parse(text) : null);
    };
    const timer = setTimeout(end, PATIENCE_MS);
    socket.on('error', end).on('close', end).on('data', (data) => {
      text += data;
      if (text.endsWith('\n')) end();
    });
    socket.write(`${JSON.stringify(request)}\n`);
  });
}

/** The file that says which allocation fails, see nomem.c. */
class Memory {
  constructor(path) {
    this.path = path;
    this.fd = openSync(path, 'w+');
    this.set(0);
  }

  set(n) {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64LE(BigInt(n));
    writeSync(this.fd, bytes, 0, 8, 0);
  }

  /** How many more there would have to be until it fails; 0: it did, or none was to. */
  left() {
    const bytes = Buffer.alloc(8);
    readSync(this.fd, bytes, 0, 8, 0);
    return Number(bytes.readBigInt64LE());
  }
}

async function oneHost(t, run) {
  if (!existsSync(NOMEM)) throw new Error(`${NOMEM} is not there: build it`);
  const cluster = new Cluster({ n: 1, hello: 100, hold: 350, patch(config) {
    config.url_allow = ['http://*:*'];
    config.http.cors = ['http://a.example.com'];
    config.transport.peers = ['10.77.0.9', 'b.example.com:4222'];
  } });
  const [host] = cluster.hosts;
  const memory = new Memory(join(cluster.dir, 'memory'));
  t.after(async () => {
    closeSync(memory.fd);
    await cluster.stop();
  });
  host.writeConfig();
  await run(host, memory);
}

function start(host, memory, log) {
  return new Process(host.argv([NOMEM, '-c', host.file]),
    { log: host.log(log), env: { NOMEM_FILE: memory.path } });
}

/** Waits until the agent answers, or ended. Returns true if it answers. */
async function answers(host, agent) {
  for (const end = now() + PATIENCE_MS; !agent.exit && now() < end; await sleep(10))
    if (existsSync(host.config.control) && await ask(host.config.control, { cmd: 'version' }))
      return true;
  assert.ok(agent.exit, `it neither answers nor ends: ${agent.log}\n${agent.text()}`);
  return false;
}

test('memory: each allocation of a start fails once', { timeout: 1200000 }, (t) => oneHost(t,
  async (host, memory) => {
    let refused = 0;
    let went = 0;
    let n = 1;
    for (let fired = true; fired; n += STEP) {
      memory.set(n);
      const agent = start(host, memory, `start-${n}`);
      const up = await answers(host, agent);
      fired = memory.left() === 0;
      memory.set(0);
      const exit = up ? await agent.end() : agent.exit;
      const text = agent.text();
      const told = `allocation ${n}: ${JSON.stringify(exit)}\n${text}`;
      assert.doesNotMatch(text, TROUBLE, told);
      if (up) {
        went++;
        assert.equal(exit.code, 0, told);
      } else {
        refused++;
        assert.ok(exit.code === 1 || exit.code === 2, told);
        assert.match(text, SAID, told);
      }
    }
    t.diagnostic(`${n} allocations: ${refused} times it said so and ended, ${went} times it went on`);
    assert.ok(refused > 0 && went > 1);
  }));

test('memory: each allocation of a reload fails once', { timeout: 1200000 }, (t) => oneHost(t,
  async (host, memory) => {
    const agent = start(host, memory, 'agent');
    assert.ok(await answers(host, agent), agent.text());
    const reload = (n) => {
      host.config.http.cors = [`http://${n % 2 ? 'a' : 'b'}.example.com`];
      host.config.groups[0].checks = host.config.groups[0].checks.slice(0, 1);
      if (n % 2)
        host.config.groups[0].checks.push({ name: 'more', url: 'http://127.0.0.1:3000/', body: 'x' });
      host.writeConfig();
      return ask(host.config.control, { cmd: 'reload' });
    };
    let refused = 0;
    let n = 1;
    for (let fired = true; fired; n += STEP) {
      memory.set(n);
      const reply = await reload(n);
      fired = memory.left() === 0;
      memory.set(0);
      refused += reply?.ok !== true;
      if (reply && !reply.ok) assert.match(reply.error, SAID, `allocation ${n}`);
      const version = await ask(host.config.control, { cmd: 'version' });
      assert.ok(version?.ok, `allocation ${n}: ${JSON.stringify(agent.exit)}\n${agent.text()}`);
    }
    t.diagnostic(`${n} allocations: ${refused} reloads were refused`);
    assert.ok(refused > 0);
    const last = await reload(n);
    assert.equal(last.ok, true, JSON.stringify(last));
    const exit = await agent.end();
    assert.equal(exit.code, 0, agent.text());
    assert.doesNotMatch(agent.text(), TROUBLE, agent.text());
  }));
