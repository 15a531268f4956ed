// Row 7: agents cannot hear each other, browsers reach every gateway.
import assert from 'node:assert/strict';
import { clusterTest, within } from './lib/testing.mjs';
import { CASES, partition } from './rows/partition.mjs';

const FAST = { hello: 100, hold: 350 };
const CUT_MS = 5000;
// A BFF that is late with its answer because the machine is busy still serves.
const patch = (config) => { config.groups[0].timers.witness_timeout_ms = 2000; };

for (const [kind, { n, what }] of Object.entries(CASES)) {
  clusterTest(`row 7 (${kind}): ${what}`, { n, ...FAST, patch }, async (cluster, t) => {
    const result = await partition(cluster, kind, CUT_MS);
    assert.deepEqual(result.moves, [], 'a slot of a serving host moved');
    for (const { part, majority, majorityEver, suspect, alive } of result.parts) {
      const larger = part.length > n / 2;
      const about = `the part of ${part.length}`;
      assert.ok(suspect, `${about}: the slots of the others are not all suspect`);
      assert.ok(alive, `${about}: a slot was not alive`);
      if (larger) assert.deepEqual(majorityEver, [true], `${about}: majority`);
      else assert.deepEqual(majority, [false], `${about}: majority`);
    }
    within(t, 'one AVG and equal pools after the heal', result.heal_ms,
      FAST.hold + 3 * FAST.hello);
    const largest = result.parts.find(({ part }) => part.length > n / 2);
    if (largest)
      assert.ok(largest.part.map((i) => `bff-${i}`).includes(result.avg),
        `the AVG after the heal, ${result.avg}, is not of the larger part`);
  });
}
