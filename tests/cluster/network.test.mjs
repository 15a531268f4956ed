// What happens to links and addresses (rows of the scenarios).
import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { clusterTest, within } from './lib/testing.mjs';
import { ip4, ip6 } from './lib/net.mjs';
import { converged, equalPools, oneAvg } from './lib/predicates.mjs';
import { now, sleep } from './lib/sh.mjs';

const FAST = { hello: 100, hold: 350 };
const SETTLE_MS = FAST.hold + 2 * FAST.hello;

const TRANSPORTS = {
  'IPv4 multicast': {},
  'IPv6 multicast': { ipv6: true },
  'IPv4 unicast': { peers: [1, 2].map(ip4) },
  'IPv6 unicast': { ipv6: true, peers: [1, 2].map((i) => `[${ip6(i)}]`) },
  'IPv6 link-local unicast': { ipv6: true, peers: ['fe80::1%eth0', 'fe80::2%eth0'] },
};

for (const [what, options] of Object.entries(TRANSPORTS)) {
  clusterTest(`R-01: two of equal priority meet again after a cut, ${what}`,
    { n: 2, ...FAST, ...options }, async (cluster, t) => {
      const { names } = cluster;
      cluster.net.partition([[1], [2]]);
      await sleep(3 * FAST.hold);
      const at = now();
      cluster.net.heal();
      const agreed = oneAvg(names);
      const equal = equalPools(names);
      const took = await cluster.until(at, (world) => agreed(world) && equal(world),
        { timeout: 5000, stable: 500, what: 'one AVG' });
      within(t, 'one AVG and equal pools', took - at, SETTLE_MS + FAST.hello);
    });
}

const initial = (host) => (world) => world.get(host.name).status.d?.groups[0].state === 'Initial';

clusterTest('R-34, R-36: a link goes down and up, is taken away and comes back',
  { n: 3, ...FAST }, async (cluster, t) => {
    const { names, net } = cluster;
    for (const [what, off, on] of [
      ['down and up', (i) => net.link(i, 'down'), (i) => net.link(i, 'up')],
      ['gone and back', (i) => net.unplug(i), (i) => net.plug(i)],
    ])
      for (const host of [cluster.avg(), cluster.others(cluster.avg())[0]]) {
        let at = now();
        off(host.i);
        await cluster.until(at, initial(host), { timeout: 5000, what: `${what}: Initial` });
        await sleep(2 * FAST.hold);
        const addresses = (await host.status()).groups[0].members.map(({ address }) => address);
        assert.ok(!addresses.some((text) => text.startsWith('127.')), addresses.join());
        at = now();
        on(host.i);
        const took = await cluster.until(at, converged(names), { timeout: 10000, what });
        within(t, `${what}: converged`, took - at, SETTLE_MS + FAST.hello + 500);
      }
  });

clusterTest('R-35: an agent without an address waits, and works once it has one',
  { n: 2, ...FAST, started: false }, async (cluster, t) => {
    const [first, late] = cluster.hosts;
    const { names, net } = cluster;
    net.flush(late.i);
    first.startAgent();
    late.startAgent();
    await cluster.until(now(), initial(late), { timeout: 5000, stable: 1000, what: 'Initial' });
    assert.match(late.agentLog(), /NOSOCKET/);
    const at = now();
    net.address(late.i);
    const took = await cluster.until(at, converged(names), { timeout: 10000, what: 'it joins' });
    t.diagnostic(`converged ${Math.round(took - at)} ms after it got its address`);
  });

clusterTest('R-37: all addresses of the AVG are flushed and restored', { n: 3, ...FAST },
  async (cluster, t) => {
    const { names, net } = cluster;
    const host = cluster.avg();
    const { pid } = host.agent;
    net.flush(host.i);
    await sleep(2 * FAST.hold);
    const at = now();
    net.address(host.i);
    const took = await cluster.until(at, converged(names), { timeout: 10000, what: 'it is back' });
    within(t, 'converged', took - at, SETTLE_MS + 500);
    assert.equal(host.agent.pid, pid);
    assert.equal(host.agent.exit, null);
  });

clusterTest('R-37: another address, as a lease brings: the default url and its check go there',
  { n: 1, ...FAST, patch(config) {
    delete config.groups[0].url;
    delete config.groups[0].checks;
  } }, async (cluster, t) => {
    const [host] = cluster.hosts;
    const moved = ip4(host.i + 100);
    cluster.net.flush(host.i);
    cluster.net.address(host.i, host.i + 100);
    const at = now();
    const serves = (world) => world.get(host.name).pool.json?.gateways
      .some(({ url, state }) => url === `http://${moved}:3000` && state === 'active');
    // Longer than the check would need to find its old target down.
    const took = await cluster.until(at, serves, { timeout: 10000, stable: 6000,
      what: 'its slot, at the new address' });
    t.diagnostic(`active there after ${Math.round(took - at)} ms`);
    const [check] = (await host.status()).groups[0].checks;
    assert.equal(check.up, true);
    assert.equal(check.changes, 0, 'its verdict went along');
  });

const cpuTicks = (pid) => {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
  return Number(fields[11]) + Number(fields[12]);
};

clusterTest('R-41: a peer whose port is closed costs no CPU',
  { n: 2, ...FAST, peers: [ip4(1), ip4(2)] }, async (cluster, t) => {
    const [host, other] = cluster.hosts;
    other.kill('SIGKILL');
    await sleep(1000);
    for (const { poller } of cluster.hosts) poller.kill('SIGSTOP');
    const before = cpuTicks(host.agent.pid);
    await sleep(3000);
    const percent = (cpuTicks(host.agent.pid) - before) / 3;
    for (const { poller } of cluster.hosts) poller.kill('SIGCONT');
    t.diagnostic(`${percent.toFixed(1)} % of a core`);
    assert.ok(percent < 20, `${percent} % of a core: it spins`);
  });

clusterTest('R-43: no peer at all: says so, and never falls back to multicast',
  { n: 1, ...FAST, peers: [], started: false }, async (cluster) => {
    const [host] = cluster.hosts;
    host.startAgent();
    await sleep(2000);
    assert.match(host.agentLog(), /NOSOCKET.*no peers/);
    assert.equal(cluster.net.sent(1), 0);
  });

clusterTest('R-19: peers that cannot be resolved at the start are found later',
  { n: 3, spare: 1, ...FAST, peers: ['agents.test'], started: false }, async (cluster, t) => {
    const dns = cluster.tool(4, 'dns.mjs', [ip4(4)]);
    await dns.ask({ names: {} });
    for (const host of cluster.hosts) {
      host.resolveBy(ip4(4));
      host.startAgent();
    }
    await sleep(2000);
    const at = now();
    await dns.ask({ names: { 'agents.test': cluster.hosts.map(({ i }) => ip4(i)) } });
    const took = await cluster.until(at, converged(cluster.names), { timeout: 15000,
      what: 'all three' });
    t.diagnostic(`converged ${Math.round(took - at)} ms after the name server answers`);
    // What was resolved once is kept while the name server fails again.
    await dns.ask({ names: {} });
    await cluster.until(now(), converged(cluster.names), { timeout: 5000, stable: 2000,
      what: 'all three, without the name server' });
  });

clusterTest('R-24: two groups on the same agents know nothing of each other', {
  n: 2, ...FAST,
  patch(config) {
    const drain = join(config.state_dir, '../drain');
    config.groups.push({ ...config.groups[0], name: 'mobile', id: 11,
      checks: [{ name: 'maintenance', file: drain, drain: true }] });
  },
}, async (cluster) => {
  const [host, other] = cluster.hosts;
  const served = async (group) => (await other.json(`/pool/${group}`, 8080)).gateways
    .map((g) => `${g.owner}->${g.id}`).join();
  for (const end = now() + 5000; (await served('mobile')) !== 'bff-1->bff-1,bff-2->bff-2';) {
    assert.ok(now() < end, await served('mobile'));
    await sleep(50);
  }
  const web = await served('web');
  const file = host.config.groups[1].checks[0].file;
  writeFileSync(file, '');
  for (const end = now() + 5000; (await served('mobile')) !== 'bff-1->bff-2,bff-2->bff-2';) {
    assert.ok(now() < end, await served('mobile'));
    await sleep(50);
  }
  assert.equal(await served('web'), web);
  rmSync(file);
});
