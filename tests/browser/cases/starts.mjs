// The page begins while something is missing.
import assert from 'node:assert/strict';
import { Tab } from '../lib/browser.mjs';
import { hold, served } from '../lib/measure.mjs';

const allThree = ({ requests }) => assert.equal(Object.keys(served(requests)).length, 3, 'not all three served');

async function killAgents(nodes) {
  for (const { agent } of nodes) {
    agent.kill('SIGKILL');
    await agent.exited;
  }
}

export const starts = {
  async 'start with one agent down'({ name, world, context }) {
    await killAgents(world.nodes.slice(0, 1));
    world.configure({ agents: world.agents, gateways: world.gateways });
    allThree(await hold(name, { world, context, act: async ([tab]) => {
      const pool = await tab.page.evaluate(() => window.demo.glbp.pool);
      assert.notEqual(pool.group, '', 'the static list is still in use');
      return `pool ${pool.avg}.${pool.version}`;
    } }));
  },

  async 'start with all agents down and a cached pool'({ name, world, context }) {
    world.configure({ agents: world.agents });
    const visit = await Tab.open(context, `${world.page}/?rate=0`);
    await visit.page.waitForFunction(() => window.demo.glbp.pool?.group === 'web');
    await visit.close();
    await killAgents(world.nodes);
    allThree(await hold(name, { world, context, act: async ([tab]) =>
      `from storage: ${(await tab.page.evaluate(() => window.demo.glbp.pool.gateways.length))} gateways` }));
  },

  async 'start with nothing but the static list'({ name, world, context }) {
    await killAgents(world.nodes);
    world.configure({ gateways: world.gateways });
    allThree(await hold(name, { world, context }));
  },
};
