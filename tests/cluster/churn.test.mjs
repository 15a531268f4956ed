// Row 15: joins, leaves, kills and reloads in a row; the survivors' memory and descriptors level
// off. Leaks are the sanitizer's to find when the agents of this run end.
import assert from 'node:assert/strict';
import { GLBPD } from './lib/cluster.mjs';
import { clusterTest } from './lib/testing.mjs';
import { churn } from './rows/churn.mjs';

const COUNT = Number(process.env.GLBP_CHURN ?? 150);
// The address sanitizer keeps freed memory back: its figures say nothing about ours.
const SANITIZED = GLBPD.includes('asan');

clusterTest(`row 15: ${COUNT} joins, leaves, kills and reloads`, { n: 4, hello: 50, hold: 200,
  timeout: 600000 }, async (cluster, t) => {
  const result = await churn(cluster, COUNT);
  t.diagnostic(JSON.stringify(result.done));
  for (const { name, early, late } of result.survivors) {
    t.diagnostic(`${name}: ${early.fds} -> ${late.fds} descriptors, ${early.rss_kb} -> `
      + `${late.rss_kb} kB`);
    assert.ok(late.fds <= early.fds + 3, `${name}: descriptors grow`);
    if (!SANITIZED)
      assert.ok(late.rss_kb <= early.rss_kb * 1.05 + 1024, `${name}: memory grows`);
  }
});
