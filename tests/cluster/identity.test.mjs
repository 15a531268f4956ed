// Row 12: two nodes with one name; and names that move or return.
import assert from 'node:assert/strict';
import { clusterTest, within } from './lib/testing.mjs';
import { converged, moves, takeovers } from './lib/predicates.mjs';
import { now, sleep } from './lib/sh.mjs';

const ROUNDS = Number(process.env.GLBP_ROUNDS ?? 10);
const FAST = { hello: 100, hold: 350 };

clusterTest('R-15, row 12: a second node of the same name waits and says why', { n: 3, ...FAST,
  started: false }, async (cluster, t) => {
  const [first, other, second] = cluster.hosts;
  const { timeline } = cluster;
  second.config.node = first.name;
  const start = now();
  first.startAgent();
  other.startAgent();
  const two = [first.name, other.name];
  await cluster.until(start, converged(two), { timeout: 10000, stable: 500, what: 'two nodes' });
  const before = timeline.world().get(other.name).pool.body;
  const at = now();
  second.startAgent();
  const initial = (world) => world.get(second.name).status.d?.groups[0].state === 'Initial';
  await cluster.until(at, initial, { timeout: 5000, stable: 2 * FAST.hold, what: 'Initial' });
  assert.deepEqual(takeovers(timeline, two, at), []);
  assert.deepEqual(moves(timeline, two, at), []);
  assert.equal(timeline.world().get(other.name).pool.body, before);

  assert.match(second.agentLog(), /DUPNODE.*bff-1/);
  assert.match((await second.status()).groups[0].reason, /bff-1/);
  assert.equal((await second.get('/ready')).code, 503);
  const shown = second.ctl('status');
  assert.match(shown.stdout, /Initial/);
  assert.match(shown.stdout, /bff-1/);

  const killed = first.crash();
  const joined = await cluster.until(killed, (world) => !initial(world)
    && world.get(other.name).status.d.groups[0].alive.includes(first.name), { timeout: 10000,
    what: 'its turn' });
  within(t, 'the second one joins', joined - killed, FAST.hold + 3 * FAST.hello);
});

clusterTest('R-16: a name moves to another host at once after a goodbye', { n: 3, ...FAST,
  started: false }, async (cluster, t) => {
  const [first, other, second] = cluster.hosts;
  second.config.node = first.name;
  first.startAgent();
  other.startAgent();
  await cluster.until(now(), converged([first.name, other.name]), { timeout: 10000, stable: 300,
    what: 'two nodes' });
  const slots = (pool) => pool.json?.gateways.filter((g) => g.owner === first.name && g.id
    === first.name && g.alive).map((g) => `${g.slot} ${g.url}`).join();
  const before = slots(cluster.timeline.world().get(other.name).pool);
  first.kill('SIGTERM');
  await first.agent.exited;
  const at = now();
  second.startAgent();
  const url = second.config.groups[0].url;
  const moved = await cluster.until(at, (world) => slots(world.get(other.name).pool)
    ?.includes(url), { timeout: 5000, what: 'the slot with the new url' });
  assert.equal(slots(cluster.timeline.world().get(other.name).pool).split(' ')[0],
    before.split(' ')[0], 'it has the same slot');
  t.diagnostic(`its slot is back after ${Math.round(moved - at)} ms`);
});

clusterTest('R-17: kill -9 and start within 200 ms, again and again: one entry, slot kept',
  { n: 3, ...FAST }, async (cluster) => {
    const { names, timeline } = cluster;
    const host = cluster.others(cluster.avg())[0];
    const at = now();
    for (let run = 0; run < ROUNDS; run++) {
      host.kill('SIGKILL');
      await host.agent.exited;
      await sleep(Math.random() * 150);
      host.startAgent();
      await cluster.until(now(), converged(names), { timeout: 10000, what: 'it is back' });
    }
    assert.deepEqual(takeovers(timeline, names.filter((name) => name !== host.name), at), []);
    for (const { name } of cluster.others(host))
      for (const { json } of timeline.seen(name, 'pool', at).filter((seen) => seen.json)) {
        assert.equal(json.members, 3);
        assert.equal(json.gateways.filter((g) => g.owner === host.name).length, 1);
      }
  });
