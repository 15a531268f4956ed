// A cluster of real agents and BFFs, one network namespace a host, watched by pollers.
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { spawnSync } from 'node:child_process';
import { hostConfig, nodeName } from './config.mjs';
import { downAll, Network, sweepLeftovers } from './net.mjs';
import { converged } from './predicates.mjs';
import { killAll, Process, Talker } from './process.mjs';
import { now, run, sleep } from './sh.mjs';
import { Timeline } from './timeline.mjs';

const ROOT = resolve(fileURLToPath(import.meta.url), '../../../..');
const LIB = join(ROOT, 'tests/cluster/lib');
export const GLBPD = resolve(process.env.GLBPD ?? join(ROOT, 'build/release/bin/glbpd'));
export const GLBPCTL = join(GLBPD, '../glbpctl');
const BFF = join(ROOT, 'deploy/bff/bff.mjs');
const PERIOD_MS = 4;
const SANITIZER = /ERROR: \w+Sanitizer|SUMMARY: \w+Sanitizer|runtime error:|assert(ion)? failed/i;
const PRELOADED = `${process.env.ASAN_OPTIONS ?? ''}:verify_asan_link_order=0:detect_leaks=0`;
const FAKETIME = '/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1';

process.on('exit', () => {
  killAll();
  downAll();
});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
  process.once(signal, () => process.exit(130));

class Host {
  constructor(cluster, i) {
    Object.assign(this, { cluster, i, name: nodeName(i), dir: join(cluster.dir, nodeName(i)) });
    mkdirSync(this.dir, { recursive: true });
    this.config = hostConfig(i, this.dir, cluster.options);
    cluster.options.patch?.(this.config, i);
    this.env = {};
    this.wrap = [];
  }

  argv(argv) {
    return this.cluster.net.argv(this.i, argv);
  }

  log(what) {
    return join(this.dir, `${what}.log`);
  }

  /** Writes this.config, a host's own change of it included, where the agent reads it. */
  writeConfig() {
    this.file = join(this.dir, 'gateway.json');
    // In one step: an agent that is just starting reads the old one or the new one.
    writeFileSync(`${this.file}.new`, JSON.stringify(this.config, null, 2));
    renameSync(`${this.file}.new`, this.file);
    return this.file;
  }

  /** Gives the agent a wall clock that setClock() moves; the monotonic one is left alone. */
  fakeClock() {
    this.clockFile = join(this.dir, 'clock');
    this.setClock(0);
    this.env = {
      LD_PRELOAD: FAKETIME, FAKETIME_TIMESTAMP_FILE: this.clockFile, FAKETIME_NO_CACHE: '1',
      DONT_FAKE_MONOTONIC: '1', ASAN_OPTIONS: PRELOADED,
    };
  }

  /** Moves the wall clock by so many seconds from the true one, in one step. */
  setClock(seconds) {
    writeFileSync(`${this.clockFile}.new`, `${seconds < 0 ? '' : '+'}${seconds}\n`);
    renameSync(`${this.clockFile}.new`, this.clockFile);
  }

  /** Lets suspend() move the agent's CLOCK_BOOTTIME as a suspend of its host does; its timers stay. */
  suspendable() {
    const library = join(this.dir, 'suspend.so');
    run('cc', ['-shared', '-fPIC', '-o', library, join(LIB, 'suspend.c')]);
    this.suspendFile = join(this.dir, 'suspended');
    this.env = { LD_PRELOAD: library, SUSPEND_FILE: this.suspendFile, ASAN_OPTIONS: PRELOADED };
  }

  suspend(seconds) {
    writeFileSync(`${this.suspendFile}.new`, `${seconds}\n`);
    renameSync(`${this.suspendFile}.new`, this.suspendFile);
  }

  /** Lets the agent ask the name server at `address`, by a mount in a namespace of its own. */
  resolveBy(address) {
    const file = join(this.dir, 'resolv.conf');
    writeFileSync(file, `nameserver ${address}\n`);
    this.wrap = ['unshare', '--mount', 'sh', '-c', 'mount --bind "$0" /etc/resolv.conf && exec "$@"', file];
  }

  startAgent() {
    this.writeConfig();
    this.expectExit = false;
    this.agent = new Process(this.argv([...this.wrap, GLBPD, '-c', this.file]),
      { log: this.log('agent'), env: this.env });
    return this.agent;
  }

  async startBff() {
    this.bff = new Process(this.argv(['node', BFF, '--port', '3000', '--name', this.name]),
      { log: this.log('bff') });
    for (const end = now() + 30000; ;) {
      if ((await this.get('/health', { port: 3000 })).code === 200) return;
      if (this.bff.exit || now() > end)
        throw new Error(`${this.name}: the BFF does not answer\n${this.bff.text()}`);
      await sleep(20);
    }
  }

  startPoller() {
    const period = String(this.cluster.options.period ?? PERIOD_MS);
    this.poller = new Talker(this.argv(['node', join(LIB, 'poller.mjs'), period, '8080', '8081']), {
      log: this.log('poller'),
      onLine: (line) => this.cluster.timeline.add(this.name, line) });
    return this.poller.ask({ sync: true });
  }

  /** kill -9 of agent and BFF together, as a host that loses power. Returns when (ms). */
  crash() {
    this.expectExit = true;
    const at = now();
    this.agent?.kill('SIGKILL');
    this.bff?.kill('SIGKILL');
    return at;
  }

  kill(signal) {
    if (signal === 'SIGKILL' || signal === 'SIGTERM') this.expectExit = true;
    const at = now();
    this.agent.kill(signal);
    return at;
  }

  /** An answer of this host to itself: {code, headers, body} (code 0: none, with `error`). */
  get(path, { port = 8080, headers, method } = {}) {
    return this.poller.ask({ get: path, port, headers, method });
  }

  async json(path, port = 8081) {
    const { code, body, error } = await this.get(path, { port });
    if (code !== 200) throw new Error(`${this.name} ${path}: ${code} ${error ?? body}`);
    return JSON.parse(body);
  }

  status() {
    return this.json('/status');
  }

  /** Runs glbpctl on this host: {status, stdout, stderr}. */
  ctl(...args) {
    const [command, ...rest] = this.argv([GLBPCTL, '--socket', this.config.control, ...args]);
    return spawnSync(command, rest, { encoding: 'utf8', timeout: 10000 });
  }

  agentLog() {
    return this.agent ? this.agent.text() : '';
  }
}

export class Cluster {
  /**
   * options: those of hostConfig(), and
   *   n       hosts with an agent and a BFF
   *   spare   further hosts with neither, for strangers and late comers
   *   patch   function (config, i) that changes a host's config
   *   period  how often a poller asks, ms
   */
  constructor(options) {
    if (!existsSync(GLBPD)) throw new Error(`${GLBPD} is not there: build it, or set GLBPD`);
    sweepLeftovers();
    this.options = options;
    this.dir = mkdtempSync(join(tmpdir(), 'glt-'));
    this.net = new Network(options.n + (options.spare ?? 0)).up();
    this.hosts = Array.from({ length: options.n }, (_, k) => new Host(this, k + 1));
    this.timeline = new Timeline(this.hosts.map(({ name }) => name));
    this.tools = [];
  }

  get names() {
    return this.hosts.map(({ name }) => name);
  }

  host(name) {
    return this.hosts.find((host) => host.name === name);
  }

  /** The pollers and BFFs run and answer; no agent does yet. */
  async prepare() {
    await Promise.all(this.hosts.map((host) => host.startPoller()));
    await Promise.all(this.hosts.map((host) => host.startBff()));
  }

  /** Starts everything and waits until it has converged. Returns when the agents were started. */
  async start() {
    await this.prepare();
    const at = now();
    for (const host of this.hosts) host.startAgent();
    const dead = this.hosts.map(async ({ name, agent }) => {
      const exit = await agent.exited;
      throw new Error(`${name}: the agent ended at its start: ${JSON.stringify(exit)}`);
    });
    await Promise.race([...dead, this.until(at, converged(this.names), { timeout: 30000,
      what: 'the cold start' })]);
    dead.forEach((ended) => ended.catch(() => {}));
    return at;
  }

  until(from, predicate, options) {
    return this.timeline.until(from, predicate, options);
  }

  /** The host that is AVG by its own word. */
  avg() {
    const world = this.timeline.world();
    return this.hosts.find(({ name }) => world.get(name).status.d?.groups[0].state === 'Active');
  }

  others(...hosts) {
    return this.hosts.filter((host) => !hosts.includes(host));
  }

  /** A host of the network beyond the agents' ones, or one of theirs, to run a tool on.
   *  onLine: what it says without being asked. */
  tool(i, script, args = [], onLine = undefined) {
    const tool = new Talker(this.net.argv(i, ['node', join(LIB, script), ...args.map(String)]),
      { log: join(this.dir, `${script}-${i}-${this.tools.length}.log`), onLine });
    this.tools.push(tool);
    return tool;
  }

  /** Starts a crashed or stopped host again and waits until all have converged. */
  async revive(host) {
    const at = now();
    if (!host.bff || host.bff.exit) await host.startBff();
    if (!host.agent || host.agent.exit) host.startAgent();
    await this.until(at, converged(this.names), { timeout: 30000, what: `${host.name} is back` });
  }

  /** Ends everything. Returns what went wrong with the agents themselves: crashes, sanitizers. */
  async stop({ keep = false } = {}) {
    const troubles = [];
    for (const host of this.hosts) {
      if (!host.agent) continue;
      if (host.agent.exit && !host.expectExit)
        troubles.push(`${host.name}: the agent ended by itself: ${JSON.stringify(host.agent.exit)}`);
    }
    // libfaketime breaks timed waits for a thread that ends, and crashes beside it: no goodbye there.
    for (const { agent, clockFile } of this.hosts) if (clockFile) agent?.kill('SIGKILL');
    const running = this.hosts.filter(({ agent, clockFile }) => agent && !agent.exit && !clockFile);
    await Promise.all(running.map(async (host) => {
      const exit = await host.agent.end();
      if (exit.code !== 0)
        troubles.push(`${host.name}: SIGTERM ended the agent with ${JSON.stringify(exit)}`);
    }));
    for (const host of this.hosts) {
      const line = host.agentLog().split('\n').find((text) => SANITIZER.test(text));
      if (line) troubles.push(`${host.name}: ${line} (${host.log('agent')})`);
    }
    for (const { bff, poller } of this.hosts) {
      bff?.kill('SIGKILL');
      poller?.kill('SIGKILL');
    }
    for (const tool of this.tools) tool.kill('SIGKILL');
    this.net.down();
    if (!keep && troubles.length === 0) rmSync(this.dir, { recursive: true, force: true });
    return troubles;
  }

  /** The end of every agent's log, for a failed test. */
  report(lines = 25) {
    return this.hosts.map((host) => (existsSync(host.log('agent'))
      ? `--- ${host.name} (${host.log('agent')})\n`
        + host.agentLog().trimEnd().split('\n').slice(-lines).join('\n')
      : `--- ${host.name}: never started`)).join('\n');
  }
}
