// clusterTest(): one test with one cluster, cleared away whatever happens.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Cluster } from './cluster.mjs';

/** Times in tests are asserted at three times their bar, so that a busy machine fails nobody; the
 *  bar itself is measured by tests/bench/failover.mjs. */
export const SLACK = 3;

/** run(cluster, t): the body. options: those of Cluster, and `started: false` to begin before any
 *  agent runs. */
export function clusterTest(name, options, run) {
  test(name, { timeout: options.timeout ?? 180000 }, async (t) => {
    const cluster = new Cluster(options);
    let failed = true;
    try {
      if (options.started === false) await cluster.prepare();
      else await cluster.start();
      await run(cluster, t);
      failed = false;
    } catch (error) {
      error.message += `\n${cluster.timeline.draw()}\n${cluster.report()}`;
      throw error;
    } finally {
      const troubles = await cluster.stop({ keep: failed || process.env.GLBP_KEEP === '1' });
      const late = cluster.timeline.lateness(0);
      if (late > 50) t.diagnostic(`the machine was busy: pollers up to ${late} ms late`);
      if (!failed) assert.deepEqual(troubles, []);
    }
  });
}

/** ms within SLACK times the bar; prints the measured value. */
export function within(t, what, ms, bar) {
  t.diagnostic(`${what}: ${Math.round(ms)} ms (bar ${Math.round(bar)} ms)`);
  assert.ok(Number.isFinite(ms), `${what}: never happened`);
  assert.ok(ms <= bar * SLACK, `${what}: ${Math.round(ms)} ms, over ${SLACK} x ${bar} ms`);
}
