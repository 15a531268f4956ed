// Change push: long polls and event streams of real agents while roles and weights change.
import assert from 'node:assert/strict';
import { clusterTest, within } from './lib/testing.mjs';
import { ip4 } from './lib/net.mjs';
import { oneAvg } from './lib/predicates.mjs';
import { now, sleep } from './lib/sh.mjs';

// Timers that a busy machine cannot break: nobody is to be lost.
const CALM = { hello: 200, hold: 3000 };
const BAR_MS = 1000;
const READER = 2;

/** Asks until `test` of it holds; fails after 10 s. */
async function eventually(what, look, test) {
  let seen;
  for (const end = now() + 10000; now() < end; await sleep(20)) {
    seen = await look();
    if (test(seen)) return seen;
  }
  return assert.fail(`${what}: ${JSON.stringify(seen)}`);
}

const http = async (host) => (await host.status()).http;
const weightOf = ({ data }) => JSON.parse(data).gateways.map(({ weight }) => weight).join(' ');
const pools = ({ events }) => events.filter(({ event }) => event === 'pool');

/** Events of a stream once `test` of them holds. */
const until = (tool, name, what, test) =>
  eventually(what, () => tool.ask({ events: name }), test);

clusterTest('long polls and streams have a change within a second', { n: 1, spare: 1, ...CALM },
  async (cluster, t) => {
    const [host] = cluster.hosts;
    const tool = cluster.tool(READER, 'push.mjs', [ip4(1), 8080]);
    const admin = cluster.tool(1, 'push.mjs', ['127.0.0.1', 8081]);
    assert.equal((await tool.ask({ stream: 'a', path: '/events/web' })).code, 200);
    assert.equal((await admin.ask({ stream: 'all', path: '/events' })).code, 200);
    await until(tool, 'a', 'the current pool', (seen) => pools(seen).length === 1);
    const { headers } = await host.get('/pool/web');
    const stamp = headers['glbp-stamp'];
    const waiting = tool.ask({ poll: `/pool/web?wait=30s&stamp=${stamp}` });
    await eventually('the poll waits', () => http(host), ({ polls }) => polls === 1);
    const at = now();
    assert.equal(host.ctl('weight', 'web', '40').status, 0);
    const polled = await waiting;
    assert.equal(polled.code, 200);
    assert.notEqual(polled.stamp, stamp);
    within(t, 'a long poll has the change', polled.t - at, BAR_MS);
    const streamed = await until(tool, 'a', 'the change', (seen) =>
      pools(seen).some((event) => weightOf(event) === '40'));
    within(t, 'a stream has the change', pools(streamed).at(-1).t - at, BAR_MS);
    assert.deepEqual([...new Set(streamed.events.filter(({ event }) => event)
      .map(({ event }) => event))], ['pool'], 'pools only for the public');
    assert.equal(pools(streamed).at(-1).data, (await host.get('/pool/web')).body);
    const told = await until(admin, 'all', 'the weight', ({ events }) =>
      events.some(({ event }) => event === 'check'));
    assert.equal(JSON.parse(told.events.find(({ event }) => event === 'check').data).event,
      'weight');

    const over = await tool.ask({ poll: `/pool/web?wait=500ms&stamp=${polled.stamp}` });
    assert.equal(over.code, 304);
    assert.equal((await host.get('/events')).code, 404);
  });

clusterTest('Last-Event-ID resumes; a restart gives new ids', { n: 1, ...CALM },
  async (cluster) => {
    const [host] = cluster.hosts;
    const tool = cluster.tool(1, 'push.mjs', ['127.0.0.1', 8081]);
    await tool.ask({ stream: 'a', path: '/events/web' });
    const first = await until(tool, 'a', 'the current pool', (seen) => pools(seen).length === 1);
    await tool.ask({ close: 'a' });
    host.ctl('weight', 'web', '40');
    host.ctl('weight', 'web', '50');
    await eventually('both changes', () => host.json('/pool/web'),
      ({ gateways }) => gateways[0].weight === 50);
    await tool.ask({ stream: 'b', path: '/events/web', last: pools(first)[0].id });
    const { events } = await until(tool, 'b', 'what was missed', (seen) =>
      pools(seen).some((event) => weightOf(event) === '50'));
    const missed = events.filter(({ event }) => event).map((event) =>
      (event.event === 'pool' ? weightOf(event) : JSON.parse(event.data).text));
    // The pool with 40 was replaced by the one with 50: nobody needs it.
    assert.deepEqual(missed, ['weight 100 -> 40 of 100, eligible', 'weight 40 -> 50 of 100, eligible',
      '50']);
    const last = pools({ events }).at(-1).id;

    host.kill('SIGTERM');
    await host.agent.exited;
    assert.notEqual((await tool.ask({ events: 'b' })).ended, null);
    await cluster.revive(host);
    await tool.ask({ stream: 'c', path: '/events/web', last });
    const again = await until(tool, 'c', 'the current pool', (seen) => pools(seen).length > 0);
    const life = (id) => BigInt(id.split('-')[0]);
    assert.ok(life(pools(again)[0].id) > life(last), `${pools(again)[0].id} after ${last}`);
  });

clusterTest('who hangs up, stalls or vanishes is dropped',
  { n: 1, spare: 2, ...CALM, patch: (config) => {
    config.http.limits = { send_ms: 1000 };
    config.http.admin_on_public = true; // more to read than pools
  } }, async (cluster, t) => {
    const [host] = cluster.hosts;
    const [stalls, vanishes] = [2, 3];
    // A small window, and the kernel takes no more for a reader that does not read.
    for (const i of [stalls, vanishes])
      cluster.net.run(cluster.net.namespace(i),
        ['sysctl', '-qw', 'net.ipv4.tcp_rmem=4096 4096 4096']);
    const stalling = cluster.tool(stalls, 'push.mjs', [ip4(1), 8080]);
    const vanishing = cluster.tool(vanishes, 'push.mjs', [ip4(1), 8080]);
    const path = '/events/web';
    await stalling.ask({ stream: 'closes', path });
    await stalling.ask({ stream: 'stalls', path });
    await stalling.ask({ stream: 'reads', path });
    await vanishing.ask({ stream: 'vanishes', path });
    await eventually('all are open', () => http(host), ({ streams }) => streams === 4);

    const closed = now();
    await stalling.ask({ close: 'closes' });
    await eventually('the hang-up is seen', () => http(host), ({ streams }) => streams === 3);
    within(t, 'a hang-up is seen', now() - closed, BAR_MS);

    await stalling.ask({ stall: 'stalls' });
    cluster.net.isolate(vanishes);
    for (let weight = 1; weight <= 30; weight++)
      assert.equal(host.ctl('weight', 'web', String(weight)).status, 0);
    const told = now();
    await eventually('both are dropped', () => http(host), ({ streams }) => streams === 1);
    within(t, 'a stalled and a vanished reader are dropped', now() - told, 3000);
    await until(stalling, 'reads', 'the last weight', (seen) =>
      pools(seen).some((event) => weightOf(event) === '30'));
  });

clusterTest('a stopping AVG ends its streams at once, and its hand-over is as quick',
  { n: 3, ...CALM }, async (cluster, t) => {
    const avg = cluster.avg();
    const others = cluster.others(avg);
    const tool = cluster.tool(avg.i, 'push.mjs', ['127.0.0.1', 8080]);
    const other = cluster.tool(others[0].i, 'push.mjs', ['127.0.0.1', 8081]);
    const names = Array.from({ length: 200 }, (_, k) => `s${k}`);
    await Promise.all(names.map((name) => tool.ask({ stream: name, path: '/events/web' })));
    await other.ask({ stream: 'all', path: '/events/web' });
    await until(other, 'all', 'the current pool', (seen) => pools(seen).length === 1);

    const at = avg.kill('SIGTERM');
    const taken = await cluster.until(at, oneAvg(others.map(({ name }) => name)),
      { timeout: 10000, what: 'the hand-over' });
    within(t, 'new AVG', taken - at, 50);
    await avg.agent.exited;
    const ends = await Promise.all(names.map(async (name) =>
      (await tool.ask({ events: name })).ended));
    assert.ok(ends.every((end) => end !== null), 'a stream is open yet');
    within(t, 'the last of 200 streams ended', Math.max(...ends) - at, 300);
    const { events } = await until(other, 'all', 'the new AVG', ({ events: list }) =>
      list.some(({ event, data }) => event === 'election' && JSON.parse(data).event === 'avg'));
    const elected = events.find(({ event, data }) => event === 'election'
      && JSON.parse(data).event === 'avg');
    within(t, 'a stream elsewhere tells the new AVG', elected.t - at, BAR_MS);
    await until(other, 'all', 'a pool of the new AVG', (seen) =>
      pools(seen).some(({ data }) => JSON.parse(data).avg !== avg.name));
  });
