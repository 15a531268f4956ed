// Predicates over a world (timeline.mjs), each for a list of host names.

const group = (world, name) => world.get(name)?.status.d?.groups[0];
const pool = (world, name) => world.get(name)?.pool.json;

/** Names among `names` whose agent says it is Active. */
export const actives = (world, names) =>
  names.filter((name) => group(world, name)?.state === 'Active');

/** Exactly one AVG, and everyone follows it. */
export const oneAvg = (names) => (world) => {
  const [avg, ...more] = actives(world, names);
  return avg !== undefined && more.length === 0
    && names.every((name) => group(world, name)?.avg === avg);
};

/** Two or more say Active at one time. */
export const twoAvgs = (names) => (world) => actives(world, names).length > 1;

/** The same pool, to the byte, on all; none of it stale. */
export const equalPools = (names) => (world) => {
  const first = world.get(names[0]).pool;
  return first.json !== null && names.every((name) => {
    const other = world.get(name).pool;
    return other.body === first.body && !other.stale;
  });
};

/** Every pool has each of `nodes` alive, forwarding a slot that it owns. */
export const servedBy = (names, nodes) => (world) => names.every((name) => {
  const served = pool(world, name)?.gateways ?? [];
  return nodes.every((node) => served.some((g) => g.owner === node && g.id === node && g.alive));
});

/** No pool has a live slot forwarded by `node`. */
export const movedFrom = (names, node) => (world) => names.every((name) => {
  const served = pool(world, name)?.gateways;
  return served !== undefined && served.length > 0
    && served.every((g) => g.alive && g.id !== node);
});

/** One AVG, one standby when there are two or more, equal pools with everyone in them. */
export const converged = (names) => {
  const agreed = oneAvg(names);
  const equal = equalPools(names);
  const served = servedBy(names, names);
  return (world) => agreed(world) && equal(world) && served(world)
    && (names.length === 1 || Boolean(pool(world, names[0]).standby));
};

/** What slots are forwarded by whom, as one text: equal texts, nothing moved. */
export const forwarding = (world, name) =>
  (pool(world, name)?.gateways ?? []).map((g) => `${g.slot}:${g.owner}->${g.id}`).join(' ');

/** Every time that a host became Active in from..to: [{t, name}]. One that does not answer for a
 *  while is taken to be what it was. */
export function takeovers(timeline, names, from, to = Infinity) {
  const list = [];
  const was = new Map();
  timeline.walk(from, to, (t, world) => {
    for (const name of names) {
      const state = group(world, name)?.state;
      if (state === undefined) continue;
      if (state === 'Active' && was.has(name) && was.get(name) !== 'Active') list.push({ t, name });
      was.set(name, state);
    }
  });
  return list;
}

/** Every change of a slot's forwarder that any of `names` published in from..to, as text. */
export function moves(timeline, names, from, to = Infinity) {
  const list = [];
  for (const name of names) {
    let before = '';
    timeline.walk(from, to, (t, world) => {
      const present = forwarding(world, name);
      if (before && present && present !== before)
        list.push(`${name} +${Math.round(t - from)} ms: ${before} => ${present}`);
      before = present || before;
    });
  }
  return list;
}
