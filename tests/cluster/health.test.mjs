// Row 5: a BFF dies, its agent lives; drain and weight by command; nothing left to serve.
import assert from 'node:assert/strict';
import { clusterTest, within } from './lib/testing.mjs';
import { converged, movedFrom, moves } from './lib/predicates.mjs';
import { now, sleep } from './lib/sh.mjs';
import { loseBff } from './rows/failover.mjs';

const FAST = { hello: 100, hold: 350 };
const INTERVAL_MS = 200;
const RISE = 2;
const FALL = 2;
const RETURN_MS = 500;

for (const who of ['AVG', 'another node']) {
  clusterTest(`row 5: the BFF of ${who} dies and returns`, { n: 3, ...FAST },
    async (cluster, t) => {
      const avg = cluster.avg();
      const host = who === 'AVG' ? avg : cluster.others(avg)[0];
      const result = await loseBff(cluster, host);
      within(t, 'its slot is elsewhere', result.moved_ms, FALL * INTERVAL_MS + 150);
      within(t, 'its slot is back', result.back_ms, RISE * INTERVAL_MS + RETURN_MS + 150);
      assert.ok(result.back_ms >= RETURN_MS, 'back before the forwarder preempt delay');
      assert.ok(result.avg_kept, 'the AVG role does not depend on weight');
    });
}

clusterTest('R-52: a BFF that is down when its agent starts gets no traffic',
  { n: 2, ...FAST, started: false }, async (cluster) => {
    const [up, down] = cluster.hosts;
    down.bff.kill('SIGKILL');
    const at = now();
    cluster.hosts.forEach((host) => host.startAgent());
    const { names, timeline } = cluster;
    await cluster.until(at, movedFrom(names, down.name), { timeout: 10000, stable: 2000,
      what: 'a pool without the host whose BFF is down' });
    const handed = timeline.seen(up.name, 'pool', at).flatMap((seen) => seen.json?.gateways ?? [])
      .filter((g) => g.id === down.name && g.alive);
    assert.deepEqual(handed, []);
    assert.match(down.ctl('events').stdout, /%GLBP-4-TRACK: web Grp 10 check \S+ Unknown -> Down \(/);
  });

clusterTest('R-47: all BFFs die: the pool says degraded and is not empty', { n: 2, ...FAST },
  async (cluster) => {
    const { names } = cluster;
    const at = now();
    cluster.hosts.forEach((host) => host.bff.kill('SIGKILL'));
    await cluster.until(at, (world) => names.every((name) => {
      const pool = world.get(name).pool.json;
      return pool?.degraded && pool.gateways.length === 2 && pool.gateways.every((g) => !g.alive);
    }), { timeout: 5000, what: 'a degraded pool with both slots' });
    const back = now();
    await Promise.all(cluster.hosts.map((host) => host.startBff()));
    await cluster.until(back, converged(names), { timeout: 8000, what: 'the recovery' });
  });

clusterTest('R-50: drain, undrain, weight and resign by glbpctl', { n: 3, ...FAST }, async (cluster) => {
  const { names } = cluster;
  const avg = cluster.avg();
  const host = cluster.others(avg)[0];
  const done = (result) => assert.equal(result.status, 0, result.stderr);

  let at = now();
  done(host.ctl('drain', 'web'));
  await cluster.until(at, movedFrom(names, host.name), { timeout: 2000, what: 'the drain' });
  at = now();
  done(host.ctl('undrain', 'web'));
  await cluster.until(at, converged(names), { timeout: 5000, what: 'the undrain' });

  at = now();
  done(host.ctl('weight', 'web', '40'));
  await cluster.until(at, (world) => names.every((name) => world.get(name).pool.json.gateways
    .some((g) => g.id === host.name && g.weight === 40)), { timeout: 2000, what: 'weight 40' });
  done(host.ctl('weight', 'web', 'auto'));

  at = now();
  done(avg.ctl('resign', 'web'));
  await cluster.until(at, (world) => converged(names)(world)
    && world.get(avg.name).status.d.groups[0].state !== 'Active', { timeout: 5000,
    what: 'another AVG' });
  await sleep(3 * FAST.hold);
  assert.notEqual(cluster.avg().name, avg.name, 'the role went back');
  assert.equal(avg.ctl('resign', 'web').status, 1, 'who is not AVG cannot resign');
});

clusterTest('a reload that adds or renames a check moves no slot, until the check fails',
  { n: 3, hello: 300, hold: 1500 }, async (cluster) => {
    const { names, timeline } = cluster;
    const host = cluster.others(cluster.avg())[0];
    const reload = (checks) => {
      host.config.groups[0].checks = checks;
      host.writeConfig();
      const { status, stderr } = host.ctl('reload');
      assert.equal(status, 0, stderr);
    };
    const judged = async (name) => {
      for (const end = now() + 5000; ; await sleep(20)) {
        const { checks } = (await host.status()).groups[0];
        if (checks.some((check) => check.name === name && check.up)) return;
        assert.ok(now() < end, `${name} is not up`);
      }
    };
    const [health] = host.config.groups[0].checks;
    const slow = { ...health, interval_ms: 1000 };
    const at = now();
    reload([health, { ...slow, name: 'more' }]);
    await judged('more');
    reload([{ ...slow, name: 'renamed' }]);
    await judged('renamed');
    assert.deepEqual(moves(timeline, names, at), []);

    const failing = now();
    reload([{ ...slow, name: 'renamed' }, { ...health, name: 'fails', url: 'http://127.0.0.1:9/' }]);
    await cluster.until(failing, movedFrom(names, host.name), { timeout: 5000,
      what: 'its slot elsewhere, by a check that failed from its first run on' });
  });

clusterTest('no checks: an agent that is killed and back within hold moves no slot', {
  n: 3, hello: 300, hold: 4000, patch: (config) => { config.groups[0].checks = []; },
}, async (cluster) => {
  const { timeline, names } = cluster;
  const host = cluster.others(cluster.avg())[0];
  const others = names.filter((name) => name !== host.name);
  const at = now();
  host.kill('SIGKILL');
  await host.agent.exited;
  host.startAgent();
  await sleep(2500);
  assert.deepEqual(moves(timeline, others, at), []);
  assert.ok(converged(names)(timeline.world()));
});

clusterTest('all groups drain at once; a command that one of them may refuse names one', { n: 1, ...FAST,
  patch: ({ groups }) => groups.push({ ...structuredClone(groups[0]), name: 'mob', id: 11, weighting: { max: 50 } }),
}, async (cluster) => {
  const [host] = cluster.hosts;
  const groups = async () => (await host.status()).groups.map(({ weight, draining }) => [weight, draining]);
  const before = await groups();
  for (const words of [['weight', 'all', '60'], ['weight', 'all', '5'], ['resign', 'all']]) {
    const done = host.ctl(...words);
    assert.equal(done.status, 1, words.join(' '));
    assert.match(done.stderr, /name one group: all is for drain and undrain only/);
  }
  assert.deepEqual(await groups(), before);
  assert.equal(host.ctl('drain', 'all').status, 0);
  assert.deepEqual((await groups()).map(([, draining]) => draining), [true, true]);
  assert.equal(host.ctl('undrain', 'all').status, 0);
  assert.deepEqual(await groups(), before);
});
