// Row 11: the wall clock of a host jumps; the monotonic one goes on.
import assert from 'node:assert/strict';
import { clusterTest, within } from './lib/testing.mjs';
import { converged, moves, takeovers } from './lib/predicates.mjs';
import { now, sleep } from './lib/sh.mjs';

// Timers that a busy machine cannot break: what must not change is told from noise.
const CALM = { hello: 200, hold: 3000 };
const HOUR = 3600;
const STEPS = [['+1 h', HOUR], ['-1 h', -HOUR], ['+10 years', 10 * 365 * 24 * HOUR]];

/** Everything that a clock step must leave alone. */
const facts = (cluster) => JSON.stringify([...cluster.timeline.world()].map(([name, { pool,
  status }]) => [name, pool.body, status.d.groups[0].state, status.d.groups[0].alive]));

clusterTest('R-25, row 11: clock steps on each role, and a restart there', { n: 3, ...CALM,
  started: false }, async (cluster, t) => {
  cluster.hosts.forEach((host) => host.fakeClock());
  const start = now();
  cluster.hosts.forEach((host) => host.startAgent());
  await cluster.until(start, converged(cluster.names), { timeout: 30000, stable: 1000,
    what: 'the cold start' });
  const { names, timeline } = cluster;
  const avg = cluster.avg();
  const hosts = [avg, ...cluster.others(avg)];
  for (const [what, seconds] of STEPS)
    for (const host of hosts.slice(0, 2)) {
      const before = facts(cluster);
      const at = now();
      host.setClock(seconds);
      await sleep(2 * CALM.hold);
      assert.equal(facts(cluster), before, `${what} on ${host.name}`);
      assert.deepEqual(takeovers(timeline, names, at), []);
      assert.deepEqual(moves(timeline, names, at), []);
      host.setClock(0);
      await sleep(CALM.hold);
      assert.equal(facts(cluster), before, `back from ${what} on ${host.name}`);
    }
  for (const [what, seconds] of STEPS) {
    const host = cluster.others(cluster.avg())[0];
    host.setClock(seconds);
    host.kill('SIGTERM');
    await host.agent.exited;
    const at = now();
    host.startAgent();
    await cluster.until(at, converged(names), { timeout: 10000, what: `${what}: its return` });
    const begun = timeline.first(at, (world) => world.get(host.name).status.code === 200);
    const heard = timeline.first(begun, (world) => names.every((name) => name === host.name
      || world.get(name).status.d.groups[0].alive.includes(host.name)));
    within(t, `${what}: heard again after its restart`, heard - begun, 2 * CALM.hello);
    host.setClock(0);
  }
});

/** Nothing but its own timers wakes it: no check ends, and nobody asks for /status. */
function alone(config) {
  config.http.admin_listen = '';
  config.groups[0].checks = [];
}

clusterTest('a suspended AVG serves its pool as stale until it leads again', { n: 1, hello: 1000,
  hold: 3500, started: false, patch: alone }, async (cluster) => {
  const [host] = cluster.hosts;
  const stale = (world) => world.get(host.name).pool.stale;
  host.suspendable();
  host.startAgent();
  await cluster.until(now(), (world) => world.get(host.name).pool.code === 200 && !stale(world),
    { timeout: 10000, stable: 2400, what: 'a fresh pool' });
  const at = now();
  host.suspend(10);
  await cluster.until(at, (world) => !stale(world), { timeout: 15000, stable: 4000, what: 'its return' });
  const woken = cluster.timeline.first(at, stale);
  const fresh = cluster.timeline.first(woken + 1, (world) => !stale(world));
  // Listen and Speak take a hello each; the pool of before was never fresh in between.
  assert.ok(fresh - woken >= 1500, `fresh again after ${Math.round(fresh - woken)} ms`);
});
