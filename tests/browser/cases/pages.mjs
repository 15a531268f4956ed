// What happens to the page itself.
import assert from 'node:assert/strict';
import { sleep } from '../../cluster/lib/sh.mjs';
import { BareTab } from '../lib/bare-tab.mjs';
import { withoutStorage } from '../lib/browser.mjs';
import { hold, measure, served, SLACK } from '../lib/measure.mjs';
import { ELSEWHERE } from '../lib/world.mjs';

const AWAY_MS = 3000;
const BACK_MS = 6000;

/** Overrides what the page sees of itself, as a window does that goes behind another one. */
const setVisible = (tab, state) => tab.page.evaluate((value) => {
  Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => value });
  Object.defineProperty(document, 'hidden', { configurable: true, get: () => value === 'hidden' });
  document.dispatchEvent(new Event('visibilitychange'));
}, state);

const probesOf = (tab) => tab.page.evaluate(() => window.demo.glbp.gateways.map(({ lastProbe }) => lastProbe));

export const pages = {
  async 'page hidden and shown'({ name, world, context }) {
    await hold(name, { world, context, act: async ([tab]) => {
      await setVisible(tab, 'hidden');
      await sleep(300);
      const before = await probesOf(tab);
      world.nodes[1].bff.kill('SIGKILL');
      await sleep(AWAY_MS);
      assert.deepEqual(await probesOf(tab), before, 'a hidden page probed');
      await setVisible(tab, 'visible');
      await tab.page.waitForFunction((old) => window.demo.glbp.gateways.some(({ lastProbe }, k) => lastProbe !== old[k]),
        before, { timeout: 3000 });
      return 'one BFF killed while hidden';
    } });
  },

  async 'page frozen and thawed'({ name, world, context }) {
    let hidden, frozen, thawed;
    const { requests } = await hold(name, { world, open: (url) => BareTab.open(context.browser(), url),
      // A page that stands still takes its time.
      excuse: ({ at, end }) => at < thawed && end > hidden,
      act: async ([tab]) => {
        hidden = Date.now();
        await tab.hide();
        await tab.page.waitForFunction(() => document.visibilityState === 'hidden');
        frozen = Date.now();
        await tab.page.send('Page.setWebLifecycleState', { state: 'frozen' });
        world.nodes[1].bff.kill('SIGKILL');
        await sleep(AWAY_MS);
        thawed = Date.now();
        await tab.page.send('Page.setWebLifecycleState', { state: 'active' });
        await tab.show();
        return 'one BFF killed while frozen';
      } });
    const still = requests.filter(({ at }) => at > frozen + 200 && at < thawed).length;
    assert.equal(still, 0, 'it was not frozen');
    assert.ok(requests.some(({ at }) => at > thawed), 'it did not go on');
  },

  async 'eight tabs at once'({ name, world, context }) {
    // 160 requests a second would measure how much two cores can do: one costs Chromium 16 ms of them.
    const { requests } = await hold(name, { world, context, tabs: 8, rate: 5, act: () => {
      world.nodes[1].bff.kill('SIGKILL');
      return 'one BFF killed; 5 requests a second in each';
    } });
    assert.ok(served(requests)['bff-1'] > 0 && served(requests)['bff-3'] > 0, 'the others served nothing');
  },

  async 'offline and back'({ name, world, context }) {
    let gone, back;
    const { requests, failed } = await measure(name, { world, context,
      excuse: ({ end, at }) => end >= gone && at <= (back ?? Infinity),
      act: async ([tab]) => {
        gone = Date.now();
        await context.setOffline(true);
        await tab.shows('offline', 3000 * SLACK);
        await sleep(AWAY_MS);
        const on = Date.now();
        await context.setOffline(false);
        await tab.shows('ok', BACK_MS * SLACK);
        back = Date.now();
        const dead = await tab.page.evaluate(() => window.demo.glbp.gateways.filter(({ alive }) => !alive).length);
        assert.equal(dead, 0, 'a gateway was blamed for the missing network');
        return `served again ${back - on} ms after the network was back`;
      } });
    assert.ok(requests.some(({ error }) => error !== undefined), 'nothing failed without a network');
    assert.deepEqual(failed, [], 'failed before or after');
    assert.ok(requests.some(({ error, at }) => error === undefined && at > back), 'nothing was served afterwards');
  },

  async 'storage forbidden'({ name, world }) {
    await withoutStorage((context) => hold(name, { world, context, act: async ([tab]) => {
      const access = await tab.page.evaluate(() => {
        try {
          return typeof window.localStorage;
        } catch (error) {
          return error.name;
        }
      });
      assert.equal(access, 'SecurityError', 'storage was not forbidden');
      world.nodes[1].bff.kill('SIGKILL');
      return 'one BFF killed';
    } }));
  },

  async 'one gateway with wrong CORS'({ name, world, context }) {
    const [, node] = world.nodes;
    await node.bff.end();
    node.allow(ELSEWHERE);
    await node.startBff();
    const { requests, tabs: [tab] } = await hold(name, { world, context, part: 0.6 });
    assert.equal(served(requests)['bff-2'] ?? 0, 0, 'an answer was read without CORS');
    const hints = tab.warnings.filter((text) => /CORS/.test(text) && text.includes(node.url));
    assert.equal(hints.length, 1, `hints: ${JSON.stringify(tab.warnings)}`);
  },

  async 'wrong CORS everywhere'({ name, world, context }) {
    for (const node of world.nodes) {
      await node.end();
      node.allow(ELSEWHERE);
      await node.start();
    }
    const { requests, tabs: [tab] } = await measure(name, { world, context, part: 0.6, excuse: () => true,
      act: async ([page]) => {
        await page.banner().filter({ hasText: 'CORS' }).waitFor({ timeout: 5000 * SLACK });
        return 'the page says CORS';
      } });
    assert.deepEqual(served(requests), {}, 'an answer was read without CORS');
    const [{ url }] = world.nodes;
    for (const what of [url, world.agents[0].replace('/pool/web', '')])
      assert.ok(tab.warnings.some((text) => text.includes(what) && /CORS/.test(text)), `no hint for ${what}: ${tab.warnings.join('\n')}`);
    assert.ok(tab.warnings.length <= 12, `it says it too often: ${tab.warnings.length} warnings`);
  },
};
