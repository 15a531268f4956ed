// Hosts go, one at a time and all at once.
import assert from 'node:assert/strict';
import { hold, measure, served, SLACK } from '../lib/measure.mjs';
import { until } from '../lib/world.mjs';

const DOWN_MS = 4000;
const SAYS_SO_MS = 3000;
const RECOVERS_MS = 6000;

export const agents = {
  async 'an agent killed with its host'({ name, world, context }) {
    const victim = await world.avg();
    const { requests, acted } = await hold(name, { world, context, act: () => victim.crash().then(() => `${victim.name}, the AVG`) });
    assert.ok(served(requests, 0, acted)[victim.name] > 0, 'it served nothing before');
    assert.equal(served(requests, acted + 300)[victim.name] ?? 0, 0, 'it served though it was dead');
  },

  async 'rolling restart of all three'({ name, world, context }) {
    const { requests } = await hold(name, { world, context, act: async () => {
      const begun = Date.now();
      for (const node of world.nodes) {
        await node.end();
        await node.start();
        await until(`${node.name} is back`, () => world.isWhole());
      }
      return `took ${((Date.now() - begun) / 1000).toFixed(1)} s`;
    } });
    assert.equal(Object.keys(served(requests)).length, 3, 'not all three served');
  },

  async 'all down and back'({ name, world, context }) {
    let down, up, back;
    let degradedMs;
    const { requests, failed } = await measure(name, { world, context,
      // From the kill to the page's word that all is well again nobody can serve for sure.
      excuse: ({ end }) => end >= down && end <= (back ?? Infinity),
      act: async ([tab]) => {
        down = Date.now();
        await Promise.all(world.nodes.map((node) => node.crash()));
        await tab.banner().waitFor({ timeout: SAYS_SO_MS * SLACK });
        assert.equal(await tab.status(), 'degraded');
        degradedMs = Date.now() - down;
        await new Promise((done) => setTimeout(done, DOWN_MS - Math.min(DOWN_MS, degradedMs)));
        const starts = world.nodes.map((node) => node.start());
        await Promise.any(starts);
        up = Date.now();
        await Promise.all(starts);
        await tab.shows('ok', RECOVERS_MS * SLACK);
        back = Date.now();
        return `degraded after ${degradedMs} ms, recovered ${back - up} ms after the first was back`;
      } });
    assert.ok(requests.some(({ error, at }) => error !== undefined && at > down), 'nothing failed though nobody served');
    assert.deepEqual(failed, [], 'failed before or after');
    assert.ok(requests.some(({ error, at }) => error === undefined && at > back), 'nothing was served afterwards');
  },
};
