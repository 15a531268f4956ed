// Rows 7 to 9: UDP cut while HTTP is open, one-way cuts, loss. Times in ms.
import { converged, moves, oneAvg, equalPools, takeovers, twoAvgs }
  from '../lib/predicates.mjs';
import { nodeName } from '../lib/config.mjs';
import { now, sleep } from '../lib/sh.mjs';

const PATIENCE = 20000;
const name = nodeName;

/** The cases of row 7 for a cluster whose AVG is host `avg`: parts, by host number. */
export const CASES = {
  a: { n: 3, what: '{AVG} | {2 others}', parts: (avg, [b, c]) => [[avg], [b, c]] },
  b: { n: 3, what: '{AVG, 1} | {1}', parts: (avg, [b, c]) => [[avg, b], [c]] },
  c: { n: 3, what: 'all three apart', parts: (avg, [b, c]) => [[avg], [b], [c]] },
  d: { n: 5, what: '5 = {AVG, 1} | {3}', parts: (avg, [b, c, d, e]) => [[avg, b], [c, d, e]] },
};

const pools = (cluster, host, from, to) =>
  cluster.timeline.seen(name(host), 'pool', from, to).map((seen) => seen.json).filter(Boolean);

/**
 * Row 7. UDP between the parts is cut for `ms`, HTTP stays open.
 *   moves       slots whose forwarder changed, anywhere, cut and heal included
 *   suspect     per part: every slot of the other parts was `suspect` at its end
 *   majority    per part: the flags that its pools carried once it had settled
 *   heal_ms     from the heal until one AVG and equal pools
 *   avg         the AVG then
 */
export async function partition(cluster, kind, ms) {
  const { hold, hello } = cluster.options;
  const settle = 3 * (hold + 2 * hello);
  const { names, timeline } = cluster;
  const old = cluster.avg();
  const parts = CASES[kind].parts(old.i, cluster.others(old).map(({ i }) => i));
  const at = now();
  cluster.net.partition(parts);
  await sleep(ms);
  const healed = now();
  const facts = parts.map((part) => ({
    part,
    majority: [...new Set(part.flatMap((i) => pools(cluster, i, at + settle, healed)
      .map((pool) => pool.majority)))],
    majorityEver: [...new Set(part.flatMap((i) => pools(cluster, i, at, healed)
      .map((pool) => pool.majority)))],
    suspect: part.every((i) => pools(cluster, i, healed, healed).at(-1)?.gateways
      .filter((g) => !part.map(name).includes(g.id)).every((g) => g.state === 'suspect')),
    alive: part.every((i) => pools(cluster, i, at, healed)
      .every((pool) => pool.gateways.every((g) => g.alive))),
    avgs: takeovers(timeline, part.map(name), at, healed).map((step) => step.name),
  }));
  cluster.net.heal();
  const agreed = oneAvg(names);
  const equal = equalPools(names);
  await cluster.until(healed, converged(names), { timeout: PATIENCE, stable: hold + 3 * hello,
    what: 'the heal' });
  return {
    old: old.name,
    avg: cluster.avg().name,
    parts: facts,
    moves: moves(timeline, names, at),
    heal_ms: timeline.settled(healed, (world) => agreed(world) && equal(world)) - healed,
  };
}

/** Hosts that reach each other by links that work both ways, as lists. */
export function components(hosts, cuts) {
  const cut = new Set(cuts.map(([from, to]) => `${from}>${to}`));
  const joined = (a, b) => !cut.has(`${a}>${b}`) && !cut.has(`${b}>${a}`);
  const left = new Set(hosts);
  const parts = [];
  for (const host of hosts) {
    if (!left.delete(host)) continue;
    const part = [host];
    for (const a of part)
      for (const b of [...left].filter((other) => joined(a, other))) {
        left.delete(b);
        part.push(b);
      }
    parts.push(part);
  }
  return parts;
}

/** A generator of repeatable choices (mulberry32): the seed is printed with the result. */
export function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Row 8: some of the one-way links among n hosts, each cut with probability 0.35. */
export function randomCuts(n, seed) {
  const next = random(seed);
  const cuts = [];
  for (let a = 1; a <= n; a++)
    for (let b = 1; b <= n; b++) if (a !== b && next() < 0.35) cuts.push([a, b]);
  return cuts;
}

/**
 * Row 8. The one-way cuts hold for `ms`.
 *   two_ms   the longest time with two AVGs within a part connected both ways
 *   load     datagrams of the busiest host after the election, over the hellos due to it
 */
export async function oneWay(cluster, cuts, ms) {
  const { hold, hello } = cluster.options;
  const { net, timeline, hosts } = cluster;
  const parts = components(hosts.map(({ i }) => i), cuts);
  const at = now();
  net.cut(cuts);
  await sleep(hold + 2 * hello);
  const before = hosts.map(({ i }) => net.sent(i));
  const mark = now();
  await sleep(ms);
  const due = (now() - mark) / hello;
  const sent = hosts.map(({ i }, k) => net.sent(i) - before[k]);
  const two_ms = Math.max(...parts.map((part) =>
    timeline.longest(at, now(), twoAvgs(part.map(name)))));
  net.heal();
  await cluster.until(now(), converged(cluster.names), { timeout: PATIENCE, what: 'the heal' });
  return { cuts, parts, two_ms, load: Math.max(...sent) / due };
}

/** Row 9. `percent` of the datagrams are lost for `ms`. */
export async function loss(cluster, percent, ms) {
  const { names, timeline } = cluster;
  const at = now();
  cluster.net.loss(percent);
  await sleep(ms);
  const end = now();
  cluster.net.heal();
  return { moves: moves(timeline, names, at, end), takeovers: takeovers(timeline, names, at, end) };
}
