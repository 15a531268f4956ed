// Row 14: failover while the survivor that takes over is busy with HTTP; and connections that end
// badly.
import assert from 'node:assert/strict';
import { clusterTest, within } from './lib/testing.mjs';
import { loadedCrash } from './rows/load.mjs';
import { now } from './lib/sh.mjs';
import { processUse } from './lib/net.mjs';

const FAST = { hello: 100, hold: 350 };
const limits = (config) => { config.http.limits = { per_address: 4000 }; };

clusterTest('row 14: the AVG dies under two saturating clients and 2,000 idle connections',
  { n: 3, ...FAST, patch: limits }, async (cluster, t) => {
    const result = await loadedCrash(cluster);
    t.diagnostic(`${result.rate} requests/s, ${result.open} idle connections`);
    assert.ok(result.open >= 1990, `only ${result.open} idle connections`);
    assert.equal(result.failed, 0, 'requests failed');
    assert.equal(result.empty, 0, 'an empty pool was served');
    within(t, 'new AVG', result.avg_ms, 1.1 * FAST.hold + 20);
    within(t, 'its slot is elsewhere', result.pool_ms - result.avg_ms, 100);
    for (const { pair, ms } of result.gaps) within(t, `max_gap_ms ${pair}`, ms,
      FAST.hold - FAST.hello);
  });

clusterTest('R-66: clients that reset their connections cost nothing', { n: 1, ...FAST },
  async (cluster) => {
    const [host] = cluster.hosts;
    const before = processUse(host.agent.pid).fds;
    const tool = cluster.tool(1, 'load.mjs', ['127.0.0.1', 8080]);
    await tool.ask({ reset: 2000 });
    const at = now();
    let fds;
    do {
      fds = processUse(host.agent.pid).fds;
    } while (fds > before + 2 && now() - at < 3000);
    assert.ok(fds <= before + 2, `${before} descriptors before, ${fds} after`);
    assert.equal((await host.get('/pool')).code, 200);
  });
