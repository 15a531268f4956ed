// Rows 2, 3, 4 and 6: elections from a cold start, a crash, a cut, a goodbye, a pause, a restart.
import assert from 'node:assert/strict';
import { clusterTest, within } from './lib/testing.mjs';
import { actives, converged } from './lib/predicates.mjs';
import { now } from './lib/sh.mjs';
import {
  coldStart, crashAvg, cutAvg, pauseAvg, restartAvg, stopAvg,
} from './rows/failover.mjs';

const FAST = { hello: 100, hold: 350 };
const HANDOVER_MS = 50;
const POOL_MS = 100;

for (const n of [1, 2, 3, 5]) {
  clusterTest(`row 2: a cold start of ${n} at default timers`, { n, started: false },
    async (cluster, t) => {
      const { avg_ms, pools_ms } = await coldStart(cluster);
      within(t, 'one AVG', avg_ms, 2500);
      within(t, 'equal pools with everyone alive', pools_ms, 3500);
    });
}

for (const n of [3, 5]) {
  clusterTest(`row 3: the AVG of ${n} crashes`, { n, ...FAST }, async (cluster, t) => {
    for (let run = 0; run < 3; run++) {
      const { avg_ms, pool_ms } = await crashAvg(cluster);
      within(t, 'new AVG', avg_ms, 1.1 * FAST.hold + 20);
      within(t, 'its slot is elsewhere', pool_ms - avg_ms, POOL_MS);
    }
  });
}

clusterTest('row 3: the host of the AVG is cut off', { n: 3, ...FAST }, async (cluster, t) => {
  const witness = 500;
  for (let run = 0; run < 2; run++) {
    const { pool_ms } = await cutAvg(cluster);
    within(t, 'its slot is elsewhere', pool_ms,
      Math.max(FAST.hold, FAST.hold / 3 + FAST.hello + witness) + POOL_MS);
  }
});

clusterTest('R-07, row 4: SIGTERM of the AVG', { n: 3, ...FAST }, async (cluster, t) => {
  for (let run = 0; run < 3; run++) {
    const result = await stopAvg(cluster);
    within(t, 'new AVG', result.avg_ms, HANDOVER_MS);
    assert.equal(result.code, 0);
    assert.deepEqual(result.failures, []);
  }
});

clusterTest('R-26, row 6: preempt off, a pause of 0.6 hold changes nothing', { n: 3, ...FAST },
  async (cluster) => {
    const result = await pauseAvg(cluster, 0.55 * FAST.hold);
    assert.equal(result.avg, result.old);
    assert.deepEqual(result.takeovers, []);
    assert.deepEqual(result.moves, []);
  });

for (const factor of [1.2, 3, 10]) {
  clusterTest(`R-12, R-26, row 6: preempt off, a pause of ${factor} hold gives the role away`,
    { n: 3, ...FAST, patch: (config, i) => { config.groups[0].priority = 100 + i; } },
    async (cluster, t) => {
      const result = await pauseAvg(cluster, (factor + 0.1) * FAST.hold);
      assert.notEqual(result.avg, result.old);
      assert.equal(result.takeovers.length, 1, JSON.stringify(result.takeovers));
      assert.equal(result.returned, false, 'the old AVG took the role back');
      assert.equal(result.servedOldAsFresh, false, 'an old pool was served as fresh');
      assert.deepEqual(result.moves, [], 'its BFF served all the time');
      within(t, 'one AVG after the pause', result.back_ms, FAST.hold + 2 * FAST.hello);
    });
}

clusterTest('R-04, row 6: preempt off, the AVG that is started again does not take the role back',
  { n: 3, ...FAST, patch: (config, i) => { config.groups[0].priority = 100 + i; } },
  async (cluster) => {
    const result = await restartAvg(cluster);
    assert.notEqual(result.avg, result.old);
    assert.deepEqual(result.takeovers, []);
  });

clusterTest('R-04, row 6: preempt on, the higher priority takes the role back, once',
  {
    n: 3, ...FAST, patch: (config, i) => {
      config.groups[0].priority = 100 + i;
      config.groups[0].preempt = { enabled: true, delay_ms: 300 };
    },
  },
  async (cluster) => {
    // Who started first leads until the better one is ready and has waited its delay.
    const begun = (world) => actives(world, cluster.names).join() === 'bff-3';
    await cluster.until(now(), (world) => begun(world) && converged(cluster.names)(world),
      { timeout: 10000, stable: FAST.hold, what: 'the highest priority' });
    const result = await restartAvg(cluster);
    assert.equal(result.avg, 'bff-3');
    assert.equal(result.old, 'bff-3');
    assert.equal(result.takeovers.length, 1, JSON.stringify(result.takeovers));
  });
