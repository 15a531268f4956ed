// What a host lacks or what hangs there: descriptors, the log's pipe, the disk, the name server. The
// agent says so where it still can, goes on, and recovers without a restart.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { closeSync, constants, mkdirSync, openSync, readdirSync, readFileSync, rmSync,
  writeSync } from 'node:fs';
import { join } from 'node:path';
import { converged } from './lib/predicates.mjs';
import { Process } from './lib/process.mjs';
import { clusterTest } from './lib/testing.mjs';
import { ip4 } from './lib/net.mjs';
import { now, run, sleep } from './lib/sh.mjs';

const FAST = { hello: 100, hold: 350 };
const PATIENCE_MS = 20000;

/** Waits until test() is true. */
async function eventually(what, test, patience = PATIENCE_MS) {
  for (const end = now() + patience; !(await test()); await sleep(50))
    assert.ok(now() < end, `never: ${what}`);
}

const says = (host, text) => eventually(`"${text}" in the log of ${host.name}`,
  () => host.agentLog().includes(text));
const fifo = (path) => run('mkfifo', ['-m', '600', path]);
const limit = (pid, soft) => run('prlimit', ['--pid', String(pid), `--nofile=${soft}:`]);
const softLimit = (pid) => /Max open files\s+(\d+)/.exec(readFileSync(`/proc/${pid}/limits`, 'utf8'))[1];
const leads = (cluster, { name }) =>
  cluster.timeline.world().get(name).status.d?.groups[0].state === 'Active';

clusterTest('R-63: no descriptor is left: the AVG stays, clients and checks wait, all comes back',
  { n: 3, ...FAST }, async (cluster) => {
    const host = cluster.avg();
    const { pid } = host.agent;
    const before = softLimit(pid);
    const descriptors = readdirSync(`/proc/${pid}/fd`).map(Number);
    const at = now();
    limit(pid, 3); // every number that is free is beyond it
    await sleep(3000);
    // It leads on, and nobody took its slot: that its own check finds no descriptor is no verdict.
    const [peer] = cluster.others(host);
    assert.equal((await peer.status()).groups[0].avg, host.name);
    const { gateways } = await peer.json('/pool', 8080);
    assert.ok(gateways.every(({ owner, id }) => owner === id), JSON.stringify(gateways));
    assert.equal(host.agent.exit, null);
    assert.notEqual(host.ctl('version').status, 0);
    limit(pid, before);
    await cluster.until(at, converged(cluster.names), { timeout: PATIENCE_MS, stable: 500,
      what: 'all as before' });
    await eventually('glbpctl is answered', () => host.ctl('version').status === 0);
    await eventually('HTTP is answered', async () => (await host.get('/pool')).code === 200);
    const after = readdirSync(`/proc/${pid}/fd`).length;
    assert.ok(after <= descriptors.length + 8, `${descriptors.length} descriptors before, ${after} now`);
  });

clusterTest('R-33: a log that nobody reads stops no agent, and comes when it is read',
  { n: 2, ...FAST, started: false }, async (cluster) => {
    const [host, other] = cluster.hosts;
    const path = join(host.dir, 'log.fifo');
    fifo(path);
    // Full from the first line on: the reader reads nothing.
    const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const filler = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
    let filled = 0;
    try {
      for (const bytes = Buffer.alloc(4096, '.'); ;) filled += writeSync(filler, bytes);
    } catch (error) {
      assert.equal(error.code, 'EAGAIN');
    }
    closeSync(filler);
    host.wrap = ['sh', '-c', 'exec "$@" 2>"$0"', path];
    const at = now();
    host.startAgent();
    other.startAgent();
    await cluster.until(at, converged(cluster.names), { timeout: PATIENCE_MS, what: 'both' });
    for (let i = 0; i < 3; i++)
      for (const what of ['drain', 'undrain']) assert.equal(host.ctl(what, 'web').status, 0);
    assert.equal((await host.get('/pool')).code, 200);
    // Now somebody reads.
    const cat = new Process(['cat', path], { log: join(host.dir, 'read.log') });
    await eventually('the lines that waited', () => /STATECHANGE: web Grp 10 state/.test(cat.text()));
    closeSync(reader); // not before cat has it open: a pipe without a reader takes nothing
    assert.ok(cat.text().length > filled);
    assert.equal(host.ctl('drain', 'web').status, 0);
    await eventually('new lines', () => (cat.text().match(/command drain web/g) ?? []).length >= 4);
    host.ctl('undrain', 'web');
    await host.agent.end();
    host.agent = null;
    cat.kill('SIGKILL');
  });

clusterTest('a reader of the log that is stopped stops no agent', { n: 2, ...FAST, started: false },
  async (cluster) => {
    const [host] = cluster.hosts;
    const path = join(host.dir, 'log.fifo');
    fifo(path);
    const cat = new Process(['cat', path], { log: join(host.dir, 'read.log') });
    host.wrap = ['sh', '-c', 'exec "$@" 2>"$0"', path];
    const at = now();
    for (const each of cluster.hosts) each.startAgent();
    await cluster.until(at, converged(cluster.names), { timeout: PATIENCE_MS, what: 'both' });
    cat.kill('SIGSTOP');
    const stopped = now();
    for (let i = 0; i < 10; i++)
      for (const what of ['drain', 'undrain']) assert.equal(host.ctl(what, 'web').status, 0);
    await cluster.until(stopped, converged(cluster.names), { timeout: PATIENCE_MS, stable: 1000,
      what: 'both, while it is stopped' });
    cat.kill('SIGCONT');
    await eventually('all lines', () => (cat.text().match(/command undrain web/g) ?? []).length === 10);
    await host.agent.end();
    host.agent = null;
    cat.kill('SIGKILL');
  });

clusterTest('R-33: a disk that hangs: said, waited for by nobody, and written when it answers',
  { n: 2, ...FAST, started: false }, async (cluster) => {
    const [host] = cluster.hosts;
    const dir = host.config.state_dir;
    const temp = join(dir, 'state.tmp');
    mkdirSync(dir, { mode: 0o750 });
    fifo(temp); // to open it for writing waits until somebody reads
    const at = now();
    for (const each of cluster.hosts) each.startAgent();
    await cluster.until(at, converged(cluster.names), { timeout: PATIENCE_MS, stable: 500,
      what: 'both, without a disk' });
    assert.equal(host.ctl('drain', 'web').status, 0);
    assert.equal(host.ctl('undrain', 'web').status, 0);
    const cat = spawn('cat', [temp], { stdio: 'ignore' });
    await says(host, 'cannot be written'); // a FIFO is no file: fsync() says so
    rmSync(temp, { force: true });
    await says(host, 'is written again');
    cat.kill('SIGKILL');
    assert.ok(readFileSync(join(dir, 'state')).subarray(0, 4).equals(Buffer.from('GLBS')));
  });

clusterTest('a disk that is full: said once, and written when there is room', { n: 1, ...FAST,
  started: false }, async (cluster) => {
  const [host] = cluster.hosts;
  mkdirSync(host.config.state_dir, { mode: 0o750 });
  // The mount is in the agent's own namespace, reached by /proc.
  host.wrap = ['unshare', '--mount', 'sh', '-c', 'mount -t tmpfs -o size=16k,mode=700 none "$0" && '
    + 'dd if=/dev/zero of="$0"/filler bs=4k count=8 2>/dev/null; exec "$@"', host.config.state_dir];
  host.startAgent();
  await says(host, 'cannot be written: No space left');
  await eventually('it leads', () => leads(cluster, host));
  await eventually('the failure is counted', async () => (await host.status()).counters.state_failures > 0);
  rmSync(`/proc/${host.agent.pid}/root${host.config.state_dir}/filler`);
  await says(host, 'is written again');
  assert.equal(host.agentLog().match(/cannot be written/g).length, 1);
  await eventually('the write is counted', async () => (await host.status()).counters.state_writes > 0);
});

clusterTest('R-46: a name server that never answers: the agent leads alone, stops at once, and finds the '
  + 'others when it does', { n: 2, ...FAST, spare: 1, started: false,
  patch(config) {
    config.transport = { listen: '0.0.0.0:3222', peers: ['agents.test'] };
  } }, async (cluster, t) => {
  const [first, second] = cluster.hosts;
  const dns = cluster.tool(3, 'dns.mjs', [ip4(3)]);
  await dns.ask({ names: null });
  const at = now();
  for (const host of cluster.hosts) {
    host.resolveBy(ip4(3));
    host.startAgent();
  }
  await eventually('each leads alone', () => cluster.hosts.every((host) => leads(cluster, host)));
  t.diagnostic(`alone after ${Math.round(now() - at)} ms`);
  await says(first, 'agents.test');
  // One that is waiting for an answer ends all the same.
  const begun = now();
  first.expectExit = true;
  const exit = await first.agent.end(PATIENCE_MS);
  assert.equal(exit.code, 0);
  t.diagnostic(`ended after ${Math.round(now() - begun)} ms`);
  assert.ok(now() - begun < 9000, 'it waited for the name server');
  first.expectExit = false;
  first.startAgent();
  await dns.ask({ names: { 'agents.test': [first, second].map(({ i }) => ip4(i)) } });
  await cluster.until(now(), converged(cluster.names), { timeout: 60000, what: 'both' });
});
