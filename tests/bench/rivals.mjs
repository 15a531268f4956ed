#!/usr/bin/env node
// The same faults to glbpd, keepalived and ucarp, on the same network, one after the other: how long
// until another leads, what a frontend loses, and how often a leader is replaced that lives. Needs root.
//
//   apt-get install keepalived ucarp
//   tests/bench/rivals.mjs [--runs 20] [--minutes 10] [--only glbpd,keepalived,ucarp]
//
//   --runs     hosts cut off
//   --minutes  of 20 % loss of what they send to each other
//   GLBPD      the agent to measure (default build/release/bin/glbpd)
//
// Three hosts, each with a BFF. keepalived announces itself every 100 ms, as glbpd does here, and
// declares a master dead after three and a little; ucarp knows no time below a second. Frontends call a
// gateway and, when that fails, once another: of glbpd's pool, or else the virtual address again.
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Cluster } from '../cluster/lib/cluster.mjs';
import { ip4, Network } from '../cluster/lib/net.mjs';
import { Process, Talker } from '../cluster/lib/process.mjs';
import { now, sleep } from '../cluster/lib/sh.mjs';
import { cutAvg } from '../cluster/rows/failover.mjs';
import { loss } from '../cluster/rows/partition.mjs';
import { median } from './stats.mjs';

const { values: options } = parseArgs({ options: {
  runs: { type: 'string', default: '20' }, minutes: { type: 'string', default: '10' },
  only: { type: 'string', default: 'glbpd,keepalived,ucarp' },
} });
const RUNS = Number(options.runs);
const LOSS_MS = Number(options.minutes) * 60000;
const HOSTS = [1, 2, 3];
const CLIENT = 4;
const CLIENTS = 8;
const PAUSE_MS = 50;
const VIP = '10.77.0.100';
const HERE = dirname(fileURLToPath(import.meta.url));
const CLUSTER_LIB = join(HERE, '../cluster/lib');
const BFF = join(HERE, '../../deploy/bff/bff.mjs');

/** The command of each rival on host i, after it wrote its files into `dir`. */
const RIVALS = {
  keepalived(dir, i) {
    writeFileSync(join(dir, 'conf'), `
global_defs {
  vrrp_version 3
}
vrrp_instance web {
  state BACKUP
  nopreempt
  interface eth0
  virtual_router_id 10
  priority ${100 + i}
  advert_int 0.1
  virtual_ipaddress {
    ${VIP}/24
  }
}
`);
    return ['keepalived', '--dont-fork', '--log-console', '--use-file', join(dir, 'conf'),
      '--pid', join(dir, 'pid'), '--vrrp_pid', join(dir, 'vrrp.pid')];
  },
  ucarp(dir, i) {
    for (const [file, verb] of [['up', 'add'], ['down', 'del']]) {
      writeFileSync(join(dir, file), `#!/bin/sh\nip addr ${verb} ${VIP}/24 dev eth0\n`);
      chmodSync(join(dir, file), 0o755);
    }
    return ['ucarp', '--interface=eth0', `--srcip=${ip4(i)}`, '--vhid=10', '--pass=test', `--addr=${VIP}`,
      '--advbase=1', '--deadratio=3', `--advskew=${i}`, '--shutdown', '--neutral',
      `--upscript=${join(dir, 'up')}`, `--downscript=${join(dir, 'down')}`];
  },
};

/** Three hosts with a virtual address that one of them has at a time. */
class Virtual {
  constructor(name) {
    this.name = name;
    this.dir = mkdtempSync(join(tmpdir(), 'glt-'));
    this.net = new Network(CLIENT).up();
    // What the rivals send is VRRP's protocol number.
    this.net.nft('add rule bridge glt forward ether type ip ip protocol 112 jump loss');
    this.taken = []; // {t, i}: host i took the address then
    this.holders = new Set();
    this.processes = HOSTS.map((i) => {
      const dir = mkdtempSync(join(this.dir, `${i}-`));
      const started = (what, argv) => new Process(this.net.argv(i, argv), { log: join(dir, what) });
      this.watch(i);
      return [started('bff', ['node', BFF, '--port', '3000', '--name', `bff-${i}`]),
        started('log', RIVALS[name](dir, i))];
    });
    this.processes.push(new Process(this.net.argv(CLIENT, ['node', '-e', `
      const pool = JSON.stringify({ term: 1, avg: 'x', version: 1, majority: true, lone: false,
        gateways: [{ url: 'http://${VIP}:3000', alive: true, weight: 100, state: 'active' }] });
      require('node:http').createServer((_, response) => response.end(pool)).listen(8080);`]), { log: join(this.dir, 'pool') }));
  }

  /** Notes when host i takes the address, and when it gives it back. */
  watch(i) {
    const monitor = new Process(this.net.argv(i, ['ip', '-o', 'monitor', 'address']), {
      log: join(this.dir, `monitor-${i}`), talk: true });
    monitor.child.stdout.on('data', (data) => {
      for (const line of String(data).split('\n').filter((text) => text.includes(VIP))) {
        if (line.startsWith('Deleted')) this.holders.delete(i);
        else {
          this.holders.add(i);
          this.taken.push({ t: now(), i });
        }
      }
    });
  }

  /** The one that has it, when all others have given it back. */
  async leader() {
    for (const end = now() + 30000; now() < end; await sleep(20))
      if (this.holders.size === 1) return [...this.holders][0];
    throw new Error(`${this.name}: hosts ${[...this.holders]} have ${VIP}; see ${this.dir}`);
  }

  async newLeader(from, old) {
    for (const end = from + 30000; now() < end; await sleep(2)) {
      const step = this.taken.find(({ t, i }) => t >= from && i !== old);
      if (step) return step.t - from;
    }
    throw new Error(`${this.name}: nobody took ${VIP} over; see ${this.dir}`);
  }

  agents() {
    return [ip4(CLIENT)];
  }

  tool(script, args, onLine) {
    return new Talker(this.net.argv(CLIENT, ['node', join(CLUSTER_LIB, script), ...args.map(String)]),
      { log: join(this.dir, script), onLine });
  }

  async start() {
    await sleep(8000);
  }

  async cut() {
    const old = await this.leader();
    await sleep(Math.random() * 1000);
    const at = now();
    this.net.isolate(old);
    const ms = await this.newLeader(at, old);
    await sleep(3000);
    this.net.heal();
    await sleep(6000); // one of two gives it back
    return ms;
  }

  async lose(ms) {
    const at = now();
    this.net.loss(20);
    await sleep(ms);
    this.net.heal();
    return this.taken.filter(({ t }) => t >= at).length;
  }

  async stop() {
    await Promise.all(this.processes.flat().map((process) => process.end()));
    this.net.down();
  }
}

/** The same three hosts with glbpd. */
class Glbpd {
  constructor() {
    this.cluster = new Cluster({ n: HOSTS.length, spare: 1, hello: 100, hold: 350 });
    this.net = this.cluster.net;
  }

  start() {
    return this.cluster.start();
  }

  agents() {
    return HOSTS.map(ip4);
  }

  tool(script, args, onLine) {
    return this.cluster.tool(CLIENT, script, args, onLine);
  }

  async cut() {
    const { avg_ms } = await cutAvg(this.cluster);
    await sleep(3000);
    return avg_ms;
  }

  async lose(ms) {
    return (await loss(this.cluster, 20, ms)).takeovers.length;
  }

  async stop() {
    for (const trouble of await this.cluster.stop()) console.error(trouble);
  }
}

async function measure(name) {
  const side = name === 'glbpd' ? new Glbpd() : new Virtual(name);
  const failed = [];
  const times = [];
  try {
    await side.start();
    const client = side.tool('client.mjs', [CLIENTS, PAUSE_MS, 350, ...side.agents()],
      (line) => { if (line.k === 'failed') failed.push(line); });
    for (let run = 0; run < RUNS; run++) times.push(await side.cut());
    const { calls } = await client.ask({ count: true });
    client.kill('SIGKILL');
    const replaced = await side.lose(LOSS_MS);
    return [name, Math.round(median(times)), Math.round(Math.max(...times)), failed.length, calls, replaced];
  } finally {
    await side.stop();
  }
}

console.log(`| | host of the leader cut off, ${RUNS} times: another leads, median | most | calls failed twice | of | `
  + `${options.minutes} minutes of 20 % loss: leaders replaced that lived |`);
console.log('| --- | ---: | ---: | ---: | ---: | ---: |');
for (const name of options.only.split(',')) {
  if (name !== 'glbpd' && !RIVALS[name]) throw new Error(`no rival ${name}`);
  console.log(`| ${(await measure(name)).join(' | ')} |`);
}
