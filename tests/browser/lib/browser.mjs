// Chromium, the page in it, and what the page counts.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

const OPTIONS = {
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  // Nothing but the test is asked for, and nothing but loopback is found.
  args: ['--disable-background-networking', '--disable-component-update', '--disable-sync',
    '--disable-default-apps', '--disable-domain-reliability', '--disable-client-side-phishing-detection',
    '--no-first-run', '--no-default-browser-check', '--no-pings', '--no-proxy-server',
    '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.*'],
};
// A strip that moves once a second leaves the machine to what is measured.
const CONTEXT = { reducedMotion: 'reduce' };
const NO_COOKIES = 2;

export class Chromium {
  async start() {
    this.browser = await chromium.launch(OPTIONS);
  }

  context() {
    return this.browser.newContext(CONTEXT);
  }

  async stop() {
    await this.browser?.close();
  }
}

/** A browser whose user forbids pages to keep anything: localStorage throws when it is only looked at. */
export async function withoutStorage(run) {
  const dir = mkdtempSync(join(tmpdir(), 'glbr-profile-'));
  mkdirSync(join(dir, 'Default'));
  writeFileSync(join(dir, 'Default/Preferences'),
    JSON.stringify({ profile: { default_content_setting_values: { cookies: NO_COOKIES } } }));
  const context = await chromium.launchPersistentContext(dir, { ...OPTIONS, ...CONTEXT });
  try {
    return await run(context);
  } finally {
    await context.close();
    rmSync(dir, { recursive: true, force: true });
  }
}

/** One tab with the page. */
export class Tab {
  /** What the page told in the console, and what it threw. */
  warnings = [];
  errors = [];

  static async open(context, url) {
    const tab = new Tab();
    tab.page = await context.newPage();
    tab.page.on('console', (message) => message.type() === 'warning' && tab.warnings.push(message.text()));
    tab.page.on('pageerror', (error) => tab.errors.push(error.message));
    await tab.page.goto(url);
    await tab.page.waitForFunction(() => 'demo' in window);
    return tab;
  }

  /** Sends no more, waits for what is under way, and returns every request: times in ms since 1970. */
  async requests() {
    await this.page.evaluate(() => window.demo.traffic.setRate(0));
    await this.page.waitForFunction(() => {
      const { sent, done } = window.demo.traffic.counts;
      return sent === done;
    }, null, { timeout: 20000 });
    return this.page.evaluate(() => window.demo.traffic.served.map((one) =>
      ({ ...one, at: one.at + performance.timeOrigin, end: one.at + one.ms + performance.timeOrigin })));
  }

  status() {
    return this.page.locator('[data-test=status]').textContent();
  }

  /** Resolves when the page has shown that status. */
  async shows(status, patience) {
    await this.page.locator('[data-test=status]', { hasText: status }).waitFor({ timeout: patience });
  }

  banner() {
    return this.page.locator('[data-test=banner]');
  }

  close() {
    return this.page.close();
  }
}
