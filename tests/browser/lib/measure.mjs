// One fault: tabs that ask at an even rate, what happens meanwhile, and the row that comes of it.
import assert from 'node:assert/strict';
import { now, sleep } from '../../cluster/lib/sh.mjs';
import { Tab } from './browser.mjs';

const LONG_S = 30;
const FAULT_S = Number(process.env.FAULT_S ?? 8);
/** Times are asserted at three times their bar, so that a busy machine fails nobody; a long run asserts the bar. */
export const SLACK = FAULT_S < LONG_S ? 3 : 1;
const BEFORE_MS = 1500;
const AFTER_MS = 2000;
const SLOW_MS = 2500;
/** Of so many requests one may be slow. */
const SLOW_ONE_IN = 200;
const rows = [];

/**
 * Measures, and adds a row to the table.
 * @param act   what happens 1.5 s after the page has begun; gets the tabs
 * @param rate  requests per second of each tab
 * @param part  of the usual time
 * @param excuse  (request) => boolean: failures and delays that no client could avoid; they are counted apart
 * @returns {requests, judged, failed, tabs, acted}: every request of all tabs; those that were not excused; of these,
 *          those that failed; acted: when `act` began, ms since 1970
 */
export async function measure(name, { world, context, tabs: count = 1, rate = 20, part = 1, open = (url) => Tab.open(context, url), act, note, excuse = () => false }) {
  const tabs = await Promise.all(Array.from({ length: count }, () => open(`${world.page}/?rate=${rate}`)));
  const begun = now();
  const faultS = FAULT_S * part;
  await sleep(BEFORE_MS);
  const acted = Date.now();
  const said = (await act?.(tabs)) ?? '';
  await sleep(Math.max(AFTER_MS, begun + faultS * 1000 - now()));
  const requests = (await Promise.all(tabs.map(async (tab) => inPageTime(await tab.requests(), rate)))).flat();
  const seconds = (now() - begun) / 1000;
  const excused = requests.filter((one) => excuse(one));
  const judged = requests.filter((one) => !excuse(one));
  const failed = judged.filter(({ error }) => error !== undefined);
  const slow = judged.filter(({ ms }) => ms > SLOW_MS);
  const notes = [said, note?.(requests, acted), excused.length && `${excused.length} requests excused`];
  rows.push([name, requests.length, failed.length, slow.length,
    judged.length ? Math.round(Math.max(...judged.map(({ ms }) => ms))) : '', notes.filter(Boolean).join('; ')]);
  const errors = tabs.flatMap((tab) => tab.errors);
  await Promise.all(tabs.map((tab) => tab.close()));
  assert.deepEqual(errors, [], 'the page threw');
  // A busy machine asks more slowly; hardly asking would prove nothing.
  assert.ok(requests.length >= rate * faultS * count / 10, `only ${requests.length} requests in ${seconds.toFixed(1)} s`);
  return { requests, judged, failed, tabs, acted };
}

/**
 * Adds to each request how long it took by the page's own clock: the ticks of its timer meanwhile. A page that the
 * machine does not let run, on which no tick falls, waits for the machine and not for a gateway.
 */
function inPageTime(requests, rate) {
  return requests.map((one) => {
    const ticks = one.ms > SLOW_MS ? requests.filter(({ at }) => at > one.at && at <= one.end).length : 0;
    return { ...one, paced: ticks * 1000 / rate };
  });
}

/** measure(), and the bar: no request fails, one in 200 is slow. */
export async function hold(name, options) {
  const result = await measure(name, options);
  const { failed, judged } = result;
  const slow = judged.filter(({ ms, paced }) => ms > SLOW_MS * SLACK && paced > SLOW_MS);
  assert.equal(failed.length, 0, `failed: ${failed.slice(0, 3).map(({ error }) => error).join('; ')}`);
  assert.ok(slow.length <= Math.ceil(judged.length / SLOW_ONE_IN), `${slow.length} of ${judged.length} slower than ${SLOW_MS * SLACK} ms`);
  return result;
}

/** Who answered between two times, by name, with counts. */
export function served(requests, from = 0, to = Infinity) {
  const counts = {};
  for (const { node, at, end } of requests)
    if (node && at >= from && end <= to) counts[node] = (counts[node] ?? 0) + 1;
  return counts;
}

/** The table of all that was measured, as TAP comments. */
export function printTable() {
  const head = ['fault', 'requests', 'failed', '> 2.5 s', 'max ms', 'notes'];
  const all = [head, ...rows].map((row) => row.map(String));
  const widths = head.map((_, k) => Math.max(...all.map((row) => row[k].length)));
  for (const row of all)
    console.log(`${row.map((cell, k) => (k > 0 && k < 5 ? cell.padStart(widths[k]) : cell.padEnd(widths[k]))).join('  ').trimEnd()}`);
}
