// A minute of chaos: faults of all kinds from one seed, judged as tests/cluster/chaos judges them.
import assert from 'node:assert/strict';
import { clusterTest } from './lib/testing.mjs';
import { chaos, options, summary } from './rows/chaos.mjs';

const seed = Number(process.env.GLBP_SEED ?? 1);
const minutes = 1;
const nodes = 4;
const clients = 6;

clusterTest(`chaos, seed ${seed}: a minute of faults, four nodes, six frontends`,
  { ...options(nodes, seed), timeout: 300000 }, async (cluster, t) => {
    const lines = [];
    const print = (line) => lines.push(line);
    const result = await chaos(cluster, { minutes, clients, seed, print });
    for (const line of summary(result)) t.diagnostic(line);
    assert.deepEqual(result.violations, [], lines.join('\n'));
    assert.ok(result.clients.calls > 100, 'the frontends did not call');
  });
