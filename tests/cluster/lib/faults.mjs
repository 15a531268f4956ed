// The faults of chaos: what each of them does to a host, or to all of them, and how it ends.
import { execFile } from 'node:child_process';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { GLBPCTL } from './cluster.mjs';
import { now, sleep } from './sh.mjs';
import { components, random } from '../rows/partition.mjs';

const exec = promisify(execFile);
const PAST = '2020-01-01T00:00:00Z';
const START_MS = 30000;
const STAGES = ['added', 'used', 'alone'];

/** What glbpctl says on that host, in one line; a refusal is an answer as well. */
async function ctl(host, ...args) {
  const [command, ...rest] = host.argv([GLBPCTL, '--socket', host.config.control, ...args]);
  try {
    await exec(command, rest, { timeout: 10000 });
    return '';
  } catch (error) {
    return ` (${(error.stderr || error.message).trim()})`;
  }
}

async function bffFault(host, fault) {
  const [command, ...rest] = host.argv(['curl', '-sS', '-m', '5', '-d', JSON.stringify(fault),
    'http://127.0.0.1:3000/fault']);
  await exec(command, rest);
}

async function killAgent(host) {
  host.kill('SIGKILL');
  await host.agent.exited;
}

async function killBff(host) {
  host.bff.kill('SIGKILL');
  await host.bff.exited;
}

/** Applies the config as it is now: at once, or, at one that stands still, once it goes on. */
async function reload(host) {
  host.writeConfig();
  await host.starting;
  if (host.agent.exit) return;
  if (host.stopped) host.kill('SIGHUP');
  else await ctl(host, 'reload');
}

/** A key that every run of this seed makes again. */
export function writeKey(dir, id, seed) {
  const file = join(dir, `key-${id}`);
  const hex = createHash('sha256').update(`${seed}:${id}`).digest('hex');
  if (!existsSync(file)) writeFileSync(file, `${hex}\n`, { mode: 0o600 });
  return file;
}

/** In three stages, each on all hosts before the next: the new key is accepted, is used, is alone. */
async function rotateStage(chaos, stage, x) {
  const { cluster, seed } = chaos;
  if (stage === 0) chaos.key++;
  const key = (id, more) => ({ id, file: writeKey(cluster.dir, id, seed), ...more });
  const keys = [[key(chaos.key - 1), key(chaos.key)],
    [key(chaos.key - 1, { send_until: PAST }), key(chaos.key)],
    [key(chaos.key)]][stage];
  const first = Math.floor(x * cluster.hosts.length);
  for (let k = 0; k < cluster.hosts.length; k++) {
    const host = cluster.hosts[(first + k) % cluster.hosts.length];
    host.config.auth.keys = keys;
    await reload(host);
  }
  return `key ${chaos.key} ${STAGES[stage]}`;
}

function split(chaos, x) {
  const { cluster: { hosts } } = chaos;
  const next = random(Math.floor(x * 2 ** 32));
  const all = hosts.map(({ i }) => i);
  const first = all.filter(() => next() < 0.5);
  const parts = first.length > 0 && first.length < all.length
    ? [first, all.filter((i) => !first.includes(i))] : [[all[0]], all.slice(1)];
  return { parts, what: next() < 0.7 ? 'udp' : 'all' };
}

function oneWays({ cluster: { hosts } }, x) {
  const next = random(Math.floor(x * 2 ** 32));
  const all = hosts.map(({ i }) => i);
  const cuts = all.flatMap((a) => all.filter((b) => a !== b && next() < 0.35).map((b) => [a, b]));
  return cuts.length > 0 ? cuts : [[all[0], all[1]]];
}

/** Until it answers: on a busy machine a program takes seconds to start. */
async function answering(host) {
  for (const end = now() + START_MS; (await host.get('/status', { port: 8081 })).code !== 200;) {
    if (now() > end) throw new Error(`${host.name}: the agent does not answer`);
    await sleep(20);
  }
}

function startAgent(chaos, host) {
  host.startAgent();
  chaos.begun(host);
  host.starting = answering(host);
  return host.starting;
}

// takes: what two faults cannot have at one time: 'host' its agent and BFF, 'net', 'loss', 'keys'
// moves: whose slots may move meanwhile: 'host', 'all'; 'end': the host's, from its end on
//        (who was started again is not fit before its checks passed)
// begin(chaos, host, fault), end(chaos, host, fault): may return a word for the record
const FAULTS = {
  kill: { takes: 'host', moves: 'end', begin: (chaos, host) => killAgent(host), end: startAgent },
  wipe: {
    takes: 'host', moves: 'end',
    async begin(chaos, host) {
      await killAgent(host);
      rmSync(host.config.state_dir, { recursive: true, force: true });
    },
    end: startAgent,
  },
  power: {
    takes: 'host', moves: 'host',
    begin: (chaos, host) => { host.crash(); },
    async end(chaos, host) {
      await Promise.all([startAgent(chaos, host), host.startBff()]);
    },
  },
  term: {
    takes: 'host', moves: 'host',
    async begin(chaos, host) {
      host.kill('SIGTERM');
      const { code, signal } = await host.agent.exited;
      if (code !== 0) chaos.wrong('exit', `SIGTERM ended ${host.name} with ${code ?? signal}`);
    },
    end: startAgent,
  },
  restart: {
    takes: 'host', moves: 'end',
    async begin(chaos, host) {
      await killAgent(host);
      await startAgent(chaos, host);
    },
  },
  stop: {
    takes: 'host', moves: null,
    begin(chaos, host) {
      host.stopped = true;
      host.kill('SIGSTOP');
    },
    end(chaos, host) {
      host.kill('SIGCONT');
      host.stopped = false;
    },
  },
  cut: {
    takes: 'net', moves: 'all',
    begin(chaos, host, { x }) {
      const { parts, what } = split(chaos, x);
      chaos.cluster.net.partition(parts, what);
      chaos.parts = { exact: true, parts };
      return `${parts.map((part) => part.join()).join(' | ')} ${what}`;
    },
    end: (chaos) => chaos.cluster.net.uncut(),
  },
  oneway: {
    takes: 'net', moves: null,
    begin(chaos, host, { x }) {
      const cuts = oneWays(chaos, x);
      chaos.cluster.net.cut(cuts);
      chaos.parts = { exact: false, parts: components(chaos.cluster.hosts.map(({ i }) => i), cuts) };
      return cuts.map(([a, b]) => `${a}>${b}`).join(' ');
    },
    end: (chaos) => chaos.cluster.net.uncut(),
  },
  isolate: {
    takes: 'net', moves: 'all',
    begin: (chaos, host) => { chaos.cluster.net.isolate(host.i); },
    end: (chaos) => chaos.cluster.net.uncut(),
  },
  loss: {
    takes: 'loss', moves: null,
    begin(chaos, host, { x }) {
      const percent = 5 + Math.floor(x * 26);
      chaos.cluster.net.loss(percent);
      return `${percent} %`;
    },
    end: (chaos) => chaos.cluster.net.loss(0),
  },
  bff_kill: { takes: 'host', moves: 'host', begin: (chaos, host) => killBff(host),
    end: (chaos, host) => host.startBff() },
  bff_stop: { takes: 'host', moves: 'host', begin: (chaos, host) => host.bff.kill('SIGSTOP'),
    end: (chaos, host) => host.bff.kill('SIGCONT') },
  bff_slow: { takes: 'host', moves: 'host', begin: (chaos, host) => bffFault(host, { slow_ms: 5000 }),
    end: (chaos, host) => bffFault(host, { slow_ms: 0 }) },
  bff_503: { takes: 'host', moves: 'host', begin: (chaos, host) => bffFault(host, { status: 503 }),
    end: (chaos, host) => bffFault(host, { status: 0 }) },
  drain: { takes: 'host', moves: 'host', begin: (chaos, host) => ctl(host, 'drain', 'web'),
    end: (chaos, host) => ctl(host, 'undrain', 'web') },
  weight: {
    takes: 'host', moves: null,
    begin: (chaos, host, { x }) => ctl(host, 'weight', 'web', String(1 + Math.floor(x * 100))),
    end: (chaos, host) => ctl(host, 'weight', 'web', 'auto'),
  },
  resign: { takes: 'host', moves: null, begin: (chaos, host) => ctl(host, 'resign', 'web') },
  reload: {
    takes: 'host', moves: null,
    async begin(chaos, host, { x }) {
      host.config.groups[0].priority = 90 + Math.floor(x * 20);
      await reload(host);
      return `priority ${host.config.groups[0].priority}`;
    },
  },
  rotate: {
    takes: 'keys', moves: null,
    async begin(chaos, host, { ms, x }) {
      const said = await rotateStage(chaos, 0, x);
      await sleep(ms / 2);
      await rotateStage(chaos, 1, x);
      return said;
    },
    end: (chaos, host, { x }) => rotateStage(chaos, 2, x),
  },
};

/** A fault that is going on. */
class Ongoing {
  constructor(chaos, fault, host) {
    Object.assign(this, { chaos, fault, host, kind: FAULTS[fault.kind] });
    this.where = this.kind.takes === 'host' || fault.kind === 'isolate' ? ` ${host.name}` : '';
  }

  /** Serial: an end waits for its begin. */
  then(step) {
    this.steps = (this.steps ?? Promise.resolve()).then(step).catch((error) =>
      this.chaos.wrong('harness', `${this.fault.kind}: ${error.message}`));
    return this.steps;
  }

  excused() {
    const { moves } = this.kind;
    if (moves === 'all') return this.chaos.cluster.names;
    return moves ? [this.host.name] : [];
  }

  begin() {
    const { chaos, fault, host, kind } = this;
    return this.then(async () => {
      if (kind.moves !== 'end' || !kind.end) chaos.excuse(this, this.excused());
      chaos.mark();
      const said = await kind.begin(chaos, host, fault);
      chaos.mark();
      chaos.say(`${fault.kind}${this.where}${fault.ms ? ` for ${fault.ms} ms` : ''}`
        + `${said ? ` ${said}` : ''}`);
      if (!kind.end) chaos.over(this);
    });
  }

  end() {
    const { chaos, fault, host, kind } = this;
    this.ending ??= this.then(async () => {
      if (!kind.end) return;
      if (kind.moves === 'end') chaos.excuse(this, this.excused());
      chaos.mark();
      const said = await kind.end(chaos, host, fault);
      chaos.mark();
      chaos.say(`  end of ${fault.kind}${this.where}${typeof said === 'string' ? ` ${said}` : ''}`);
      chaos.over(this);
    });
    return this.ending;
  }
}

/** The faults that go on now, and what follows from them for those who judge. */
export class Faults {
  /** say(text): a line of the record. wrong(kind, text): something that must not be.
   *  begun(host): its agent was started anew. */
  constructor(cluster, { seed, say, wrong, begun }) {
    Object.assign(this, { cluster, seed, say, wrong, begun, key: 1, parts: null });
    this.going = new Set();
    this.marks = [];
    this.excuses = new Map(cluster.names.map((name) => [name, []]));
    this.tally = new Map();
  }

  mark() {
    this.marks.push(now());
  }

  /** Slots of `names` may move from now on until the fault is over, and for as long after it as
   *  whoever asks allows. */
  excuse(ongoing, names) {
    const excuse = { from: now(), to: Infinity };
    ongoing.excuse = excuse;
    for (const name of names) this.excuses.get(name).push(excuse);
  }

  over(ongoing) {
    if (ongoing.excuse) ongoing.excuse.to = now();
    if (ongoing.kind.takes === 'net') this.parts = null;
    this.going.delete(ongoing);
  }

  /** May a slot have been taken from that host at `t`, `patience` ms after a fault at most? */
  excused(name, t, patience) {
    return this.excuses.get(name).some(({ from, to }) => from <= t && t <= to + patience);
  }

  /** The host that `who` means now: 0 the AVG, 1 its standby, then the others. */
  host(who) {
    const avg = this.cluster.avg();
    const standby = avg && this.cluster.host(
      this.cluster.timeline.world().get(avg.name).status.d.groups[0].standby);
    const rest = this.cluster.hosts.filter((host) => host !== avg && host !== standby);
    return [avg, standby, ...rest].filter(Boolean)[who] ?? this.cluster.hosts[who];
  }

  /** Begins it, unless what it takes is taken, or half of the hosts have one already. */
  begin(fault) {
    const host = this.host(fault.who);
    const { takes } = FAULTS[fault.kind];
    const same = [...this.going].filter(({ kind }) => kind.takes === takes);
    const taken = takes === 'host' ? same.some((other) => other.host === host)
      || same.length >= Math.floor((this.cluster.hosts.length - 1) / 2) : same.length > 0;
    if (taken) return null;
    const ongoing = new Ongoing(this, fault, host);
    this.going.add(ongoing);
    this.tally.set(fault.kind, (this.tally.get(fault.kind) ?? 0) + 1);
    ongoing.begin();
    return ongoing;
  }

  /** Ends them all, in some order. */
  async endAll() {
    await Promise.all([...this.going].map((ongoing) => ongoing.end()));
  }

  /** Drops what happened before `t`. */
  forget(t) {
    this.marks = this.marks.filter((mark) => mark >= t);
    for (const [name, list] of this.excuses)
      this.excuses.set(name, list.filter(({ to }) => to >= t));
  }
}
