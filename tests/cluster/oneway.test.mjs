// Rows 8 and 9: links that work one way only, and loss.
import assert from 'node:assert/strict';
import { clusterTest, within } from './lib/testing.mjs';
import { oneAvg } from './lib/predicates.mjs';
import { now, sleep } from './lib/sh.mjs';
import { loss, oneWay, randomCuts } from './rows/partition.mjs';

const FAST = { hello: 100, hold: 350 };
const SETTLE_MS = FAST.hold + 2 * FAST.hello;
// The bar is 3; a busy machine adds asks. A war of terms would send ten times the hellos due.
const LOAD = 6;

function check(t, result) {
  within(t, `two AVGs in one part, cuts ${JSON.stringify(result.cuts)}`, result.two_ms, SETTLE_MS);
  t.diagnostic(`datagrams over hellos due: ${result.load.toFixed(2)}`);
  assert.ok(result.load <= LOAD, `${result.load} times the hellos due`);
}

clusterTest('row 8: every single one-way cut among 3', { n: 3, ...FAST }, async (cluster, t) => {
  for (const a of [1, 2, 3])
    for (const b of [1, 2, 3])
      if (a !== b) check(t, await oneWay(cluster, [[a, b]], 1000));
});

clusterTest('row 8: random one-way cuts among 4', { n: 4, ...FAST }, async (cluster, t) => {
  const first = Number(process.env.GLBP_SEED ?? 1);
  for (let seed = first; seed < first + 5; seed++) {
    t.diagnostic(`seed ${seed}: GLBP_SEED=${seed} begins here`);
    check(t, await oneWay(cluster, randomCuts(4, seed), 1500));
  }
});

clusterTest('R-11: an AVG that hears nobody is replaced', { n: 3, ...FAST },
  async (cluster, t) => {
    const deaf = cluster.avg();
    const rest = cluster.others(deaf).map(({ name }) => name);
    const at = now();
    cluster.net.cut(cluster.others(deaf).map(({ i }) => [i, deaf.i]));
    const took = await cluster.until(at, (world) => oneAvg(rest)(world)
      && world.get(deaf.name).pool.json?.majority === false, { timeout: 5000, stable: 1500,
      what: 'another AVG, and the deaf one in the minority' });
    within(t, 'another AVG', took - at, SETTLE_MS);
  });

clusterTest('R-05: a newcomer that is deaf at first disturbs nobody', { n: 3, ...FAST,
  started: false }, async (cluster) => {
  const [late, ...rest] = cluster.hosts;
  const names = rest.map(({ name }) => name);
  late.config.groups[0].priority = 200;
  rest.forEach((host) => host.startAgent());
  await cluster.until(now(), oneAvg(names), { timeout: 10000, stable: 500, what: 'two nodes' });
  const before = cluster.timeline.world().get(names[0]).status.d.groups[0].avg;
  const at = now();
  cluster.net.cut(rest.map(({ i }) => [i, late.i]));
  late.startAgent();
  await sleep(2 * FAST.hold + 500);
  cluster.net.heal();
  await cluster.until(now(), oneAvg(cluster.names), { timeout: 5000, stable: 1000,
    what: 'three nodes' });
  const changed = cluster.timeline.first(at, (world) => names.some((name) =>
    world.get(name).status.d.groups[0].avg !== before));
  assert.equal(changed, null, 'the AVG changed');
});

clusterTest('row 9: 20 % loss for 40 s at default timers', { n: 3 }, async (cluster) => {
  const result = await loss(cluster, 20, 40000);
  assert.deepEqual(result.moves, []);
  assert.ok(result.takeovers.length <= 1, JSON.stringify(result.takeovers));
});
