// Row 10: datagrams that prove nothing change nothing but counters.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { clusterTest } from './lib/testing.mjs';
import { GLBPD } from './lib/cluster.mjs';
import { ip4, processUse } from './lib/net.mjs';
import { converged, moves, takeovers } from './lib/predicates.mjs';
import { now, sleep } from './lib/sh.mjs';
import { claim, hello, open, seal } from './lib/wire.mjs';

// Timers that a busy machine cannot break: what must not change is told from noise.
const CALM = { hello: 200, hold: 1500 };
const GROUP = '239.255.32.22';
const COUNT = 10000;
const KEY = randomBytes(32);
const STRANGER = 4;

const keyed = {
  n: 3, spare: 1, ...CALM,
  patch(config) {
    const file = join(config.state_dir, '../key');
    writeFileSync(file, `${KEY.toString('hex')}\n`, { mode: 0o600 });
    config.auth = { mode: 'enforce', keys: [{ id: 1, file }] };
  },
};

const startTap = (cluster, i = STRANGER) => cluster.tool(i, 'tap.mjs', [GROUP, ip4(i)]);

async function record(tap, ms) {
  await tap.ask({ record: true });
  await sleep(ms);
  await tap.ask({ record: false });
  const { datagrams } = await tap.ask({ dump: true });
  assert.ok(datagrams.length >= 10, `only ${datagrams.length} datagrams were heard`);
  return datagrams.map((text) => Buffer.from(text, 'base64'));
}

/** `list`, repeated up to COUNT. */
const fill = (list) => Array.from({ length: COUNT }, (_, k) => list[k % list.length]);

async function rejected(cluster) {
  const sums = new Map();
  for (const host of cluster.hosts.filter(({ agent }) => !agent.exit))
    for (const [reason, n] of Object.entries((await host.status()).counters.rejected))
      sums.set(reason, (sums.get(reason) ?? 0) + n);
  return sums;
}

/** Sends them and proves that nothing happened: no change of state, pool, members or terms, fewer
 *  log lines than one per cause, node and 10 s, and (where told) that they were counted. */
async function harmless(cluster, t, tap, what, datagrams, { counted = true } = {}) {
  const { timeline, names } = cluster;
  const up = names.filter((name) => !cluster.host(name).agent.exit);
  const before = await rejected(cluster);
  const lines = up.map((name) => cluster.host(name).agentLog().split('\n').length);
  const snapshot = () => JSON.stringify(up.map((name) => {
    const { pool, status } = timeline.world().get(name);
    return [pool.body, pool.stale, status.d];
  }));
  const state = snapshot();
  const at = now();
  const { sent } = await tap.ask({ send: datagrams.map((d) => d.toString('base64')) });
  await sleep(2 * CALM.hello);
  const after = await rejected(cluster);
  const more = [...after].map(([reason, n]) => [reason, n - (before.get(reason) ?? 0)])
    .filter(([, n]) => n > 0);
  const refused = more.reduce((sum, [, n]) => sum + n, 0);
  t.diagnostic(`${what}: ${sent} sent, ${refused} counted (${more.map(([r, n]) => `${r} ${n}`)
    .join(', ')})`);
  assert.equal(snapshot(), state, `${what}: something changed`);
  assert.deepEqual(takeovers(timeline, up, at), [], what);
  assert.deepEqual(moves(timeline, up, at), [], what);
  up.forEach((name, k) => {
    const log = cluster.host(name).agentLog().split('\n').slice(lines[k] - 1).filter(Boolean);
    assert.ok(log.length <= 2 * Math.max(1, more.length), `${what}: ${log.join('\n')}`);
  });
  // The kernel may drop some on the way in, none of ours may get lost in the agent's books.
  if (counted) assert.ok(refused >= 0.9 * sent, `${what}: only ${refused} of ${sent} counted`);
}

function flip(datagram, k) {
  const copy = Buffer.from(datagram);
  copy[Math.floor(k / 8) % copy.length] ^= 1 << (k % 8);
  return copy;
}

/** The payload with the number of another group (key 1 follows the kind, both one byte). */
function otherGroup(payload) {
  const copy = Buffer.from(payload);
  const at = copy.indexOf(Buffer.from([0x01, 0x0a]));
  copy[at + 1] = 11;
  return copy;
}

clusterTest('X1, X2, X3, X7, R-45, row 10: what a stranger can send, sender alive', keyed, async (cluster, t) => {
  const tap = startTap(cluster);
  const heard = await record(tap, 1500);
  const payloads = heard.map((datagram) => open(datagram).payload);
  const statuses = await Promise.all(cluster.hosts.map((host) => host.status()));
  const forged = claim(statuses.map(({ node, incarnation }) => ({ node, incarnation })));
  const wrong = randomBytes(32);
  const check = (what, list) => harmless(cluster, t, tap, what, fill(list));

  await check('without a key', [seal(forged), ...payloads.map((payload) => seal(payload))]);
  await check('with a wrong key', [seal(forged, { key: wrong }),
    ...payloads.map((payload) => seal(payload, { key: wrong }))]);
  await check('with an unknown key id', payloads.map((payload) =>
    seal(payload, { key: KEY, keyId: 7 })));
  await check('recorded and replayed', heard);
  await check('bit-flipped', Array.from({ length: COUNT }, (_, k) =>
    flip(heard[k % heard.length], Math.floor(k / heard.length) * 7)));
  await check('truncated', Array.from({ length: COUNT }, (_, k) => {
    const datagram = heard[k % heard.length];
    return datagram.subarray(0, 1 + (k % (datagram.length - 1)));
  }));
  await check('of another cluster label', payloads.map((payload) =>
    seal(payload, { key: KEY, cluster: 'other' })));
  await check('of another group', payloads.map((payload) =>
    seal(otherGroup(payload), { key: KEY })));
  await check('signed but malformed', Array.from({ length: 500 }, (_, k) => {
    const payload = payloads[k % payloads.length];
    return seal(payload.subarray(0, k % payload.length), { key: KEY });
  }));
  await check('noise', Array.from({ length: 500 }, (_, k) => randomBytes(k % 1400)));
});

clusterTest('X2, row 10: a recording, its sender dead and the receivers started again', keyed,
  async (cluster, t) => {
    const tap = startTap(cluster);
    const heard = await record(tap, 1500);
    const [dead, ...rest] = [cluster.avg(), ...cluster.others(cluster.avg())];
    const names = rest.map(({ name }) => name);
    dead.crash();
    for (const host of rest) {
      host.kill('SIGKILL');
      await host.agent.exited;
      host.startAgent();
    }
    await cluster.until(now(), (world) => names.every((name) =>
      world.get(name).status.d?.groups[0].alive.length === 1)
      && names.filter((name) => world.get(name).status.d.groups[0].state === 'Active').length
        === 1, { timeout: 10000, stable: 3000, what: 'the two that live' });
    await harmless(cluster, t, tap, 'replayed', fill(heard));
  });

clusterTest('X2, row 10: a recording, everyone started again', keyed, async (cluster, t) => {
  const tap = startTap(cluster);
  const heard = await record(tap, 1500);
  for (const host of cluster.hosts) {
    host.kill('SIGKILL');
    await host.agent.exited;
  }
  const at = now();
  cluster.hosts.forEach((host) => host.startAgent());
  await cluster.until(at, converged(cluster.names), { timeout: 10000, stable: 2000,
    what: 'all are back' });
  await harmless(cluster, t, tap, 'replayed', fill(heard));
});

clusterTest('R-44: without keys a stranger from elsewhere is not believed',
  { n: 2, spare: 1, ...CALM, peers: [ip4(1), ip4(2)] }, async (cluster, t) => {
    const tap = cluster.tool(3, 'tap.mjs', [GROUP, ip4(3)]);
    const statuses = await Promise.all(cluster.hosts.map((host) => host.status()));
    const forged = [claim(statuses), hello({})].map((payload) => seal(payload));
    const before = JSON.stringify(cluster.timeline.world().get('bff-1').status.d);
    for (const to of [ip4(1), ip4(2)])
      await tap.ask({ send: forged.map((d) => d.toString('base64')), to, rounds: 500 });
    await sleep(3 * CALM.hello);
    assert.equal(JSON.stringify(cluster.timeline.world().get('bff-1').status.d), before);
    t.diagnostic('1,000 datagrams from an address outside `peers`');
  });

clusterTest('R-44: with the key, who is on no list becomes a member',
  { ...keyed, spare: 0, peers: [ip4(1), ip4(2)] }, async (cluster) => {
    assert.ok(converged(cluster.names)(cluster.timeline.world()));
  });

clusterTest('X6: a flood of datagrams with a bad signature costs nobody his role', keyed,
  async (cluster, t) => {
    const { names, timeline } = cluster;
    const seconds = Number(process.env.GLBP_FLOOD_S ?? 5);
    const tap = startTap(cluster);
    const bad = Array.from({ length: 200 }, () => seal(hello({}), { key: randomBytes(32) })
      .toString('base64'));
    const before = cluster.hosts.map(({ agent }) => processUse(agent.pid).rss_kb);
    const at = now();
    const { sent } = await tap.ask({ send: bad, rate: 20000, rounds: seconds * 100 });
    t.diagnostic(`${Math.round((sent * 1000) / (now() - at))} datagrams/s`);
    assert.deepEqual(takeovers(timeline, names, at), []);
    assert.deepEqual(moves(timeline, names, at), []);
    for (const [k, host] of cluster.hosts.entries()) {
      const { groups: [{ members }] } = await host.status();
      for (const { node, alive, max_gap_ms } of members.filter((member) => member.alive)) {
        assert.ok(alive);
        t.diagnostic(`${node} at ${host.name}: longest silence ${max_gap_ms} ms`);
        assert.ok(max_gap_ms < CALM.hold, `${node} at ${host.name}: ${max_gap_ms} ms`);
      }
      const grown = processUse(host.agent.pid).rss_kb - before[k];
      // The address sanitizer keeps freed memory back: its figures say nothing about ours.
      if (!GLBPD.includes('asan')) assert.ok(grown < 4096, `${host.name}: ${grown} kB more`);
    }
  });
