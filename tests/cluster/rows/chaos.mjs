// Chaos: faults of all kinds, from one seed, while frontends call the gateways.
import { Faults, writeKey } from '../lib/faults.mjs';
import { Judge } from '../lib/judge.mjs';
import { ip4 } from '../lib/net.mjs';
import { actives, converged, equalPools, moves, oneAvg, takeovers } from '../lib/predicates.mjs';
import { schedule } from '../lib/schedule.mjs';
import { now, sleep } from '../lib/sh.mjs';
import { SLACK } from '../lib/testing.mjs';

const HELLO_MS = 200;
const HOLD_MS = 1500;
const CHECK = { interval_ms: 200, timeout_ms: 2000, fall: 2, rise: 2 };
const RETURN_MS = 500;
const BUSY_MS = 500;
const CLIENT_PAUSE_MS = 100;

export const AVG_BAR_MS = HOLD_MS + 2 * HELLO_MS;
export const POOLS_BAR_MS = HOLD_MS + 3 * HELLO_MS;
/** hold + fall x interval + check time-out: so long after a fault a call may fail. */
export const PATIENCE_MS = HOLD_MS + CHECK.fall * CHECK.interval_ms + CHECK.timeout_ms;
const HOME_MS = SLACK * (POOLS_BAR_MS + RETURN_MS + CHECK.rise * CHECK.interval_ms);

/** Options of the cluster that chaos wants. */
export const options = (nodes, seed) => ({
  n: nodes, spare: 1, hello: HELLO_MS, hold: HOLD_MS, period: 20,
  patch(config) {
    const [group] = config.groups;
    // A BFF whose answer is late because the machine is busy still serves.
    group.timers.witness_timeout_ms = CHECK.timeout_ms;
    Object.assign(group.checks[0], CHECK);
    group.forwarder_preempt_delay_ms = RETURN_MS;
    const dir = config.state_dir.replace(/\/[^/]+\/state$/, '');
    config.auth = { mode: 'enforce', keys: [{ id: 1, file: writeKey(dir, 1, seed) }] };
  },
});

class Chaos {
  constructor(cluster, { minutes, clients, seed, print }) {
    Object.assign(this, { cluster, minutes, seed, print, begin: now(), round: 0 });
    this.result = { rounds: 0, judgedCuts: 0, avgChanges: 0, avg_ms: [], pools_ms: [],
      violations: [], late_ms: 0 };
    this.clientLate = [];
    const wrong = (kind, what) => this.wrong(kind, what);
    this.faults = new Faults(cluster, { seed, wrong, say: (line) => this.say(line),
      begun: (host) => this.judge.begun(host, now()) });
    this.judge = new Judge(cluster, { patience_ms: PATIENCE_MS, busy_ms: BUSY_MS,
      faults: this.faults, wrong, late: (from, to) => this.late(from, to) });
    this.clients = cluster.tool(cluster.hosts.length + 1, 'client.mjs', [clients, CLIENT_PAUSE_MS,
      HOLD_MS, ...cluster.hosts.map(({ i }) => ip4(i))], (line) => {
      if (line.k === 'late') this.clientLate.push(line);
      this.judge.client(line);
    });
  }

  say(line) {
    const at = ((now() - this.begin) / 1000).toFixed(3).padStart(9);
    this.print(`${at} ${String(this.round).padStart(4)}  ${line}`);
  }

  wrong(kind, what) {
    this.say(`WRONG ${kind}: ${what}`);
    this.result.violations.push({ kind, what, round: this.round });
  }

  /** How late the machine was at most in from..to, ms. */
  late(from, to = now()) {
    const clients = this.clientLate.filter(({ t, ms }) => t >= from && t - ms <= to);
    return Math.max(this.cluster.timeline.lateness(from, to), 0, ...clients.map(({ ms }) => ms));
  }

  /** Waits for a condition; that it does not come is wrong. Returns how long it took, or null. */
  async demand(from, predicate, { bar, what, stable = 0 }) {
    for (;;) {
      const late = this.late(from);
      const timeout = Math.max(1, from + SLACK * bar + stable + 2 * late - now());
      try {
        return (await this.cluster.until(from, predicate, { timeout, stable, what })) - from;
      } catch (error) {
        // The machine was late meanwhile: so much more time.
        if (this.late(from) > late) continue;
        this.wrong(what, error.message);
        return null;
      }
    }
  }

  /** A cut that stands alone for long enough: one AVG in each part, or, where links work one way
   *  only, not two. */
  judgeParts(since) {
    const { parts, marks, going } = this.faults;
    const { timeline } = this.cluster;
    const late = this.late(since);
    const bound = SLACK * POOLS_BAR_MS + late;
    if (!parts || going.size !== 1 || now() - marks.at(-1) < bound) return;
    const world = timeline.world();
    for (const part of parts.parts) {
      const names = part.map((i) => `bff-${i}`);
      const active = actives(world, names);
      if (parts.exact ? !oneAvg(names)(world) : active.length > 1)
        this.wrong('one AVG a part', `${names}: ${active}\n${timeline.draw(world)}`);
      if (parts.exact && !equalPools(names)(world))
        this.wrong('equal pools in a part', `${names}\n${timeline.draw(world)}`);
    }
    this.result.judgedCuts++;
  }

  async storm({ faults, storm_ms }) {
    const start = now();
    const ends = [];
    for (const fault of faults) {
      await sleep(start + fault.at_ms - now());
      const ongoing = this.faults.begin(fault);
      if (!ongoing) {
        this.say(`${fault.kind}: not now`);
        continue;
      }
      ends.push(setTimeout(() => {
        this.judgeParts(start);
        ongoing.end();
      }, fault.ms));
    }
    await sleep(start + storm_ms - now());
    ends.forEach(clearTimeout);
    this.judgeParts(start);
    await this.faults.endAll();
  }

  /** All faults have ended: one AVG, equal pools, every slot at home; then nothing moves any more. */
  async peace({ quiet_ms }) {
    const { cluster, result } = this;
    const { names, timeline } = cluster;
    const from = this.faults.marks.at(-1) ?? now();
    const stable = 2 * HELLO_MS;
    const one = oneAvg(names);
    const equal = equalPools(names);
    const avg = await this.demand(from, one, { bar: AVG_BAR_MS, stable, what: 'one AVG' });
    const pools = await this.demand(from, (world) => one(world) && equal(world),
      { bar: POOLS_BAR_MS, what: 'equal pools' });
    if (avg !== null) result.avg_ms.push(avg);
    if (pools !== null) result.pools_ms.push(pools);
    // A check that began while a BFF was slow fails when its time-out is over: then its slot leaves, and returns.
    const told = CHECK.timeout_ms + CHECK.interval_ms;
    await sleep(from + told - now());
    const home = await this.demand(from + told, converged(names),
      { bar: HOME_MS / SLACK + HOLD_MS, stable, what: 'every slot at home' });
    if (home === null) return;
    const calm = now();
    await sleep(quiet_ms);
    const changes = takeovers(timeline, names, calm);
    if (changes.length > 0 && this.late(calm) < BUSY_MS)
      this.wrong('an AVG without a fault', JSON.stringify(changes));
    const moved = moves(timeline, names, calm);
    if (moved.length > 0 && this.late(calm) < BUSY_MS)
      this.wrong('a slot moved without a fault', moved.join('; '));
  }

  /** The harness itself failed: what comes after tells nothing. */
  lost() {
    return this.result.violations.some(({ kind }) => kind === 'harness');
  }

  async run() {
    const { cluster, result } = this;
    const end = now() + this.minutes * 60000;
    const rounds = schedule(this.seed, cluster.hosts.length, SLACK * POOLS_BAR_MS);
    while (now() < end && !this.lost()) {
      const start = now();
      const round = rounds.next().value;
      this.round++;
      await this.storm(round);
      await this.peace(round);
      const changes = takeovers(cluster.timeline, cluster.names, start);
      result.avgChanges += changes.length;
      result.late_ms = Math.max(result.late_ms, this.late(start));
      this.say(`calm; AVG ${cluster.avg()?.name}, ${changes.length} changes`);
      this.forget(start);
    }
    result.rounds = this.round;
    result.clients = await this.clients.ask({ count: true });
    this.judge.close();
    result.failed = this.judge.failed;
    result.moved = this.judge.moved;
    result.faults = Object.fromEntries([...this.faults.tally].sort());
    return result;
  }

  /** An hour of it must not grow: what is older than the last round is of no use. */
  forget(start) {
    const t = start - 2 * PATIENCE_MS;
    this.cluster.timeline.forget(t);
    this.faults.forget(t);
    this.judge.forget(t);
    this.clientLate = this.clientLate.filter((line) => line.t >= t);
  }
}

/** Runs for `minutes` on a converged cluster with options(). print: takes the lines of the record. */
export const chaos = (cluster, settings) => new Chaos(cluster, settings).run();

const most = (list) => (list.length ? `${Math.round(Math.max(...list))} ms` : '-');
const median = (list) => (list.length
  ? `${Math.round([...list].sort((a, b) => a - b)[list.length >> 1])} ms` : '-');

/** The result as a table, in lines. */
export function summary(result) {
  const { clients, failed, moved } = result;
  const kinds = Object.entries(result.faults);
  const wrong = new Map();
  for (const { kind } of result.violations) wrong.set(kind, (wrong.get(kind) ?? 0) + 1);
  const rows = [
    ['rounds', result.rounds],
    ['faults', `${kinds.reduce((sum, [, n]) => sum + n, 0)}: `
      + kinds.map(([kind, n]) => `${kind} ${n}`).join(', ')],
    ['cuts judged while they stood', result.judgedCuts],
    ['AVG changes', result.avgChanges],
    [`one AVG after the last fault (bar ${AVG_BAR_MS} ms)`,
      `median ${median(result.avg_ms)}, most ${most(result.avg_ms)}`],
    [`equal pools after the last fault (bar ${POOLS_BAR_MS} ms)`,
      `median ${median(result.pools_ms)}, most ${most(result.pools_ms)}`],
    ['polls, of them unanswered', `${clients.polls}, ${clients.unanswered}`],
    ['client calls, of them with a second try', `${clients.calls}, ${clients.retried}`],
    [`failed within ${PATIENCE_MS} ms of a fault, outside`, `${failed.inside}, ${failed.outside}`],
    ['slots moved by an AVG: judged, not (machine too busy)', `${moved.judged}, ${moved.untold}`],
    ['the machine was late by at most', `${result.late_ms} ms`],
    ['violations', result.violations.length === 0 ? 0
      : [...wrong].map(([kind, n]) => `${kind} ${n}`).join(', ')],
  ];
  const width = Math.max(...rows.map(([what]) => what.length));
  return rows.map(([what, value]) => `${what.padEnd(width)}  ${value}`);
}
