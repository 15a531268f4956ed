// A tab that playwright knows nothing of: its own tabs count as seen and in focus whatever stands before them, and
// Chromium freezes only what is not seen.
import { sleep } from '../../cluster/lib/sh.mjs';
import { Tab } from './browser.mjs';

/** As much of playwright's Page as Tab needs, over nested messages of the browser's own session. */
class BarePage {
  #root;
  #session;
  #next = 1;
  #waiting = new Map();

  constructor(root, targetId, session) {
    this.#root = root;
    this.targetId = targetId;
    this.#session = session;
    root.on('Target.receivedMessageFromTarget', ({ sessionId, message }) => {
      if (sessionId !== session) return;
      const { id, result, error } = JSON.parse(message);
      const waiting = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (error) waiting?.reject(new Error(error.message));
      else waiting?.resolve(result);
    });
  }

  send(method, params = {}) {
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#root.send('Target.sendMessageToTarget',
        { sessionId: this.#session, message: JSON.stringify({ id, method, params }) }).catch(reject);
    });
  }

  async evaluate(run) {
    const { result, exceptionDetails } = await this.send('Runtime.evaluate',
      { expression: `(${run})()`, returnByValue: true, awaitPromise: true });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  async waitForFunction(run, _argument, { timeout = 20000 } = {}) {
    for (let waited = 0; !(await this.evaluate(run)); waited += 50) {
      if (waited > timeout) throw new Error(`not within ${timeout} ms: ${run}`);
      await sleep(50);
    }
  }

  close() {
    return this.#root.send('Target.closeTarget', { targetId: this.targetId });
  }
}

/** A window with our tab in front; show() and hide() bring it there and take it away, as a user does. */
export class BareTab extends Tab {
  static async open(browser, url) {
    const root = await browser.newBrowserCDPSession();
    const { browserContextId } = await root.send('Target.createBrowserContext');
    const { targetId } = await root.send('Target.createTarget', { browserContextId, url });
    const { sessionId } = await root.send('Target.attachToTarget', { targetId, flatten: false });
    const tab = new BareTab();
    tab.root = root;
    tab.window = browserContextId;
    tab.page = new BarePage(root, targetId, sessionId);
    await tab.page.waitForFunction(() => 'demo' in window);
    return tab;
  }

  hide() {
    return this.root.send('Target.createTarget', { browserContextId: this.window, url: 'about:blank' });
  }

  show() {
    return this.root.send('Target.activateTarget', { targetId: this.page.targetId });
  }

  async close() {
    await this.root.send('Target.disposeBrowserContext', { browserContextId: this.window });
    await this.root.detach();
  }
}
