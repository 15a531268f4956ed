// One gateway fails in each way that gateways fail.
import assert from 'node:assert/strict';
import { hold, measure, served } from '../lib/measure.mjs';

/** A request may be under way to it when it fails. */
const UNDER_WAY_MS = 300;

/** The second gateway served its part before, and nothing once the fault had been noticed. */
function lostAfter(ms) {
  return ({ requests, acted }) => {
    assert.ok(served(requests, 0, acted)['bff-2'] > 0, 'bff-2 served nothing before the fault');
    assert.equal(served(requests, acted + ms)['bff-2'] ?? 0, 0, 'bff-2 served in spite of the fault');
  };
}

const others = (requests, acted) => {
  const { 'bff-2': one = 0, ...rest } = served(requests, acted + UNDER_WAY_MS);
  return `afterwards ${Object.entries(rest).sort().map(([node, n]) => `${node} ${n}`).join(', ')}, bff-2 ${one}`;
};

const fault = (act, check) => async ({ name, world, context }) =>
  check(await hold(name, { world, context, note: others, act: () => act(world.nodes[1]) }));

export const gateways = {
  'one BFF killed': fault((node) => node.bff.kill('SIGKILL'), lostAfter(UNDER_WAY_MS)),
  'one BFF stopped (SIGSTOP)': fault((node) => node.bff.kill('SIGSTOP'), lostAfter(UNDER_WAY_MS)),
  'one BFF answers 503': fault((node) => node.fault({ status: 503 }).then(() => ''), lostAfter(UNDER_WAY_MS)),
  // Who is slow may still be faster than nobody.
  'one BFF slowed to 3 s': fault((node) => node.fault({ slow_ms: 3000 }).then(() => ''), lostAfter(6000)),

  async drain({ name, world, context }) {
    const { requests, acted } = await hold(name, { world, context, note: others, act: async ([tab]) => {
      world.nodes[1].ctl('drain', 'web');
      const begun = Date.now();
      await tab.page.waitForFunction(() => window.demo.glbp.pool.gateways.every(({ id }) => id !== 'bff-2'), null,
        { timeout: 20000 });
      return `the page knew after ${Date.now() - begun} ms`;
    } });
    assert.ok(served(requests, 0, acted)['bff-2'] > 0, 'bff-2 served nothing before');
  },

  // The counting itself: without a second try faults do cost requests.
  'control: two killed, and only one try': async ({ name, world, context }) => {
    world.configure({ agents: world.agents, gateways: world.gateways, tries: 1 });
    const { failed } = await measure(name, { world, context, part: 0.4,
      act: () => world.nodes.slice(1).forEach(({ bff }) => bff.kill('SIGKILL')) });
    assert.ok(failed.length > 0, 'no request failed though none was tried again');
  },
};
