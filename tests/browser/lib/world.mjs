// Three gateways on loopback addresses, an agent and a BFF each, and the server of the page.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { killAll, Process } from '../../cluster/lib/process.mjs';
import { now, sleep } from '../../cluster/lib/sh.mjs';

const ROOT = resolve(fileURLToPath(import.meta.url), '../../../..');
const GLBPD = resolve(process.env.GLBPD ?? join(ROOT, 'build/release/bin/glbpd'));
const PAGE = resolve(process.env.PAGE ?? join(ROOT, 'build/browser/page'));
const [UDP, HTTP, ADMIN, BFF, WEB] = [0, 1, 2, 3, 4];
const PORTS = 5;
const FIRST_PORT = 21000;
const COUNT = 3;
export const ELSEWHERE = 'https://elsewhere.example';

process.on('exit', killAll);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
  process.once(signal, () => process.exit(130));

/** The first of a row of ports that nobody uses; another run may be under way. */
function freePorts() {
  for (let base = FIRST_PORT; base < FIRST_PORT + 100 * PORTS; base += PORTS) {
    const places = [1, 2, 3].flatMap((i) => [`udp:127.0.0.${i}:${base + UDP}`,
      ...[HTTP, ADMIN, BFF].map((k) => `tcp:127.0.0.${i}:${base + k}`)]);
    const ports = [join(ROOT, 'deploy/lib/ports.mjs'), ...places, `tcp:127.0.0.1:${base + WEB}`];
    if (spawnSync('node', ports).status === 0) return base;
  }
  throw new Error('no free ports');
}

export async function until(what, condition, patience = 20000) {
  const end = now() + patience;
  while (!(await condition())) {
    if (now() > end) throw new Error(`${what}: not within ${patience} ms`);
    await sleep(50);
  }
}

async function getJson(url, patience = 1000) {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(patience) });
    return answer.ok ? await answer.json() : null;
  } catch {
    return null;
  }
}

class Node {
  constructor(world, i) {
    this.world = world;
    this.name = `bff-${i}`;
    this.address = `127.0.0.${i}`;
    this.dir = join(world.dir, this.name);
    mkdirSync(join(this.dir, 'state'), { recursive: true });
    this.url = `http://${this.address}:${world.base + BFF}`;
    this.pool = `http://${this.address}:${world.base + HTTP}/pool/web`;
    this.control = join(this.dir, 'control.sock');
    this.origins = [];
  }

  writeConfig() {
    const { base } = this.world;
    const peers = this.world.nodes.filter((other) => other !== this);
    writeFileSync(join(this.dir, 'gateway.json'), JSON.stringify({
      node: this.name,
      cluster: 'browser',
      state_dir: join(this.dir, 'state'),
      control: this.control,
      transport: { listen: `${this.address}:${base + UDP}`,
        peers: peers.map(({ address }) => `${address}:${base + UDP}`) },
      http: { listen: `${this.address}:${base + HTTP}`, admin_listen: `${this.address}:${base + ADMIN}`,
        url: `http://${this.address}:${base + HTTP}`,
        ...(this.origins.length && { cors: this.origins }) },
      groups: [{ name: 'web', id: 10, url: this.url, forwarder_preempt_delay_ms: 200,
        checks: [{ name: 'health', url: `${this.url}/health`, interval_ms: 250 }] }],
    }));
  }

  /** @param origins that may read what agent and BFF say; none: all. */
  allow(...origins) {
    this.origins = origins;
  }

  startAgent() {
    this.writeConfig();
    this.agent = new Process([GLBPD, '-c', join(this.dir, 'gateway.json')], { log: join(this.dir, 'agent.log') });
  }

  async startBff() {
    const [origin] = this.origins;
    this.bff = new Process(['node', join(ROOT, 'deploy/bff/bff.mjs'), '--host', this.address, '--port',
      String(this.world.base + BFF), '--name', this.name, ...(origin ? ['--origin', origin] : [])],
    { log: join(this.dir, 'bff.log') });
    await until(`${this.name}: its BFF answers`, () => getJson(`${this.url}/health`));
  }

  /** kill -9 of both, as a host that loses its power. */
  async crash() {
    this.agent.kill('SIGKILL');
    this.bff.kill('SIGKILL');
    await Promise.all([this.agent.exited, this.bff.exited]);
  }

  /** Ends both in order: the agent hands its slots over first. */
  async end() {
    await this.agent.end();
    await this.bff.end();
  }

  async start() {
    await this.startBff();
    this.startAgent();
  }

  fault(what) {
    return fetch(`${this.url}/fault`, { method: 'POST', body: JSON.stringify(what) });
  }

  ctl(...args) {
    const done = spawnSync(join(GLBPD, '../glbpctl'), ['--socket', this.control, ...args],
      { encoding: 'utf8', timeout: 10000 });
    if (done.status !== 0) throw new Error(`glbpctl ${args.join(' ')}: ${done.stderr}`);
  }

  /** Nothing is wrong with it any more. */
  async mend() {
    if (this.origins.length) {
      this.origins = [];
      await this.end();
    }
    if (!this.bff || this.bff.exit) await this.startBff();
    this.bff.kill('SIGCONT');
    await this.fault({ slow_ms: 0, status: 0 });
    if (!this.agent || this.agent.exit) this.startAgent();
    else this.ctl('undrain', 'web');
  }
}

export class World {
  constructor() {
    if (!existsSync(GLBPD)) throw new Error(`${GLBPD} is not there: build it, or set GLBPD`);
    this.dir = mkdtempSync(join(tmpdir(), 'glbr-'));
    this.base = freePorts();
    this.nodes = Array.from({ length: COUNT }, (_, k) => new Node(this, k + 1));
    this.page = `http://127.0.0.1:${this.base + WEB}`;
    this.configFile = join(this.dir, 'config.json');
  }

  get agents() {
    return this.nodes.map(({ pool }) => pool);
  }

  get gateways() {
    return this.nodes.map(({ url }) => url);
  }

  /** What the page's client is given from now on. */
  configure(options = { agents: this.agents, gateways: this.gateways }) {
    writeFileSync(this.configFile, JSON.stringify(options));
  }

  async start() {
    this.configure();
    this.server = new Process(['node', join(ROOT, 'deploy/page/page.mjs'), '--root', PAGE, '--config',
      this.configFile, '--port', String(this.base + WEB)], { log: join(this.dir, 'page.log') });
    await this.mend();
    await until('the page is served', () => getJson(`${this.page}/config.json`));
  }

  /** Every node is well, and every agent says so. */
  async mend() {
    await Promise.all(this.nodes.map((node) => node.mend()));
    await until('three gateways, each on its own slot', () => this.isWhole(), 30000);
    this.configure();
  }

  async isWhole() {
    const pools = await Promise.all(this.agents.map((url) => getJson(url)));
    return pools.every((pool) => pool && JSON.stringify(pool) === JSON.stringify(pools[0])
      && pool.gateways.filter(({ id, owner, state }) => id === owner && state === 'active').length === COUNT);
  }

  /** The node that is AVG. */
  async avg() {
    const { avg } = await getJson(this.agents[0]);
    return this.nodes.find(({ name }) => name === avg);
  }

  /** @param keep leaves the logs. */
  async stop(keep) {
    const all = [this.server, ...this.nodes.flatMap(({ agent, bff }) => [agent, bff])];
    await Promise.all(all.map((process) => process?.end()));
    if (keep) console.log(`logs: ${this.dir}`);
    else rmSync(this.dir, { recursive: true, force: true });
  }
}
