// The example app in Chromium, on real agents and BFFs: what its users notice of a fault.
import { after, before, test } from 'node:test';
import { agents } from './cases/agents.mjs';
import { gateways } from './cases/gateways.mjs';
import { pages } from './cases/pages.mjs';
import { starts } from './cases/starts.mjs';
import { Chromium } from './lib/browser.mjs';
import { printTable } from './lib/measure.mjs';
import { World } from './lib/world.mjs';

const world = new World();
const browser = new Chromium();
let failed = false;

before(async () => {
  await Promise.all([world.start(), browser.start()]);
});

after(async () => {
  printTable();
  await browser.stop();
  await world.stop(failed);
});

for (const [name, run] of Object.entries({ ...gateways, ...agents, ...starts, ...pages }))
  test(name, { timeout: 120000 }, async () => {
    const context = await browser.context();
    try {
      await run({ name, world, context });
    } catch (error) {
      failed = true;
      throw error;
    } finally {
      await context.close();
      await world.mend();
    }
  });
