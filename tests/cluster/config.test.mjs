// Row 13: config files with mistakes; and reloads.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Cluster, GLBPD } from './lib/cluster.mjs';
import { ip4 } from './lib/net.mjs';
import { converged, moves, takeovers } from './lib/predicates.mjs';
import { Process } from './lib/process.mjs';
import { clusterTest, within } from './lib/testing.mjs';
import { now, run, sleep } from './lib/sh.mjs';

const FAST = { hello: 100, hold: 350 };
const DIGITS = 'c0ffee00'.repeat(8);

const urlIs = (host, url) => (world) => world.get(host.name).pool.json?.gateways
  .some((gateway) => gateway.url === url && gateway.state === 'active');
/** Sets `path` (array) in the config to `value`. */
const set = (path, value) => (config) => {
  const last = path.at(-1);
  path.slice(0, -1).reduce((object, key) => (object[key] ??= {}), config)[last] = value;
};
const replace = (from, to) => (_, text) => text.replace(from, to);
const keyFile = (content, mode) => (config, _, dir) => {
  const file = join(dir, 'key');
  if (content !== null) writeFileSync(file, content, { mode });
  config.auth = { mode: 'enforce', keys: [{ id: 1, file }] };
};

// [what, change of the config or of its text, what the line must say, text on the line at fault]
const MISTAKES = [
  ['a misspelt key', set(['groups', 0, 'timers', 'helo_ms'], 100), /helo_ms.*hello_ms/, 'helo_ms'],
  ['a misspelt key at the top', set(['nod'], 'x'), /nod.*node/, '"nod"'],
  ['a wrong type', set(['groups', 0, 'priority'], 'high'), /groups\[0\]\.priority/, '"high"'],
  ['a priority of 0', set(['groups', 0, 'priority'], 0), /priority.*1.*255/, '"priority"'],
  ['a priority of 256', set(['groups', 0, 'priority'], 256), /priority/, '"priority"'],
  ['hold below 3 hello', set(['groups', 0, 'timers', 'hold_ms'], 200),
    /hold_ms: 200 is below 3 × hello_ms/, '"hold_ms"'],
  ['timeout below redirect', set(['groups', 0, 'timers', 'timeout_ms'], 1000), /timeout_ms/,
    '"timeout_ms": 1000'],
  ['a threshold that is never crossed', set(['groups', 0, 'weighting'], { max: 100, upper: 200 }),
    /upper/, '"upper"'],
  ['a Windows path with single backslashes', replace(/"state_dir": "[^"]*"/,
    '"state_dir": "C:\\ASR\\config"'), /\\\\|backslash/i, 'C:\\ASR'],
  ['a Windows path that parses to a newline', replace(/"state_dir": "[^"]*"/,
    '"state_dir": "C:\\new"'), /\\\\|backslash/i, 'C:\\new'],
  ['a missing comma', replace(/"cluster": "test",/, '"cluster": "test"'), /./, null],
  ['a duplicate key', replace(/"cluster": "test",/, '"cluster": "test", "cluster": "x",'),
    /duplicate|twice/i, null],
  ['an array instead of an object', () => '[]', /object/, null],
  ['an empty file', () => '', /./, null],
  ['a node name with a blank', set(['node'], 'BFF 1'), /node/, '"BFF 1"'],
  ['no group', set(['groups'], []), /groups/, '"groups"'],
  ['two groups of one number', (config) => {
    config.groups.push({ ...config.groups[0], name: 'mobile' });
  }, /groups\[1\]\.id/, null],
  ['a url with a query', set(['groups', 0, 'url'], 'http://10.77.0.1/?a=1'), /groups\[0\]\.url/,
    '?a=1'],
  ['a url with a user', set(['groups', 0, 'url'], 'http://me:pw@10.77.0.1/'), /groups\[0\]\.url/,
    'me:pw'],
  ['an address that is none', set(['http', 'listen'], 'localhost:99999'), /http\.listen/, '99999'],
  ['a check of an unknown scheme', set(['groups', 0, 'checks', 0, 'url'], 'ftp://127.0.0.1/'),
    /checks\[0\]/, 'ftp:'],
  ['exec, which comes later', (config) => {
    config.groups[0].checks.push({ name: 'disk', exec: ['/bin/true'] });
  }, /not in this version/, '"exec"'],
  ['tls, which comes later', set(['http', 'tls'], { certificate: '/c', key: '/k' }),
    /not in this version/, '"tls"'],
  ['haproxy_agent, which comes later', set(['http', 'haproxy_agent'], '127.0.0.1:8082'),
    /not in this version/, '"haproxy_agent"'],
  ['a key file that is missing', keyFile(null), /key/, '/key"'],
  ['a key file open to others', keyFile(`${DIGITS}\n`, 0o644), /0600|chmod|mode/, '/key"'],
  ['a key of 63 digits', keyFile(`${DIGITS.slice(1)}\n`, 0o600), /64/, '/key"'],
  ['a date that is none', (config, text, dir) => {
    keyFile(`${DIGITS}\n`, 0o600)(config, text, dir);
    config.auth.keys[0].accept_until = 'tomorrow';
  }, /accept_until/, '"tomorrow"'],
];

function glbpd(host, args) {
  const [command, ...rest] = host.argv([GLBPD, ...args]);
  return spawnSync(command, rest, { encoding: 'utf8', timeout: 5000 });
}

test('row 13: broken config files', { timeout: 120000 }, async (t) => {
  const cluster = new Cluster({ n: 1, ...FAST });
  const [host] = cluster.hosts;
  t.after(() => cluster.stop());
  await host.startPoller();
  const pristine = JSON.stringify(host.config);

  for (const [what, change, says, fault] of MISTAKES) {
    await t.test(what, () => {
      const dir = join(cluster.dir, what.replace(/\W/g, '-'));
      mkdirSync(dir);
      const config = JSON.parse(pristine);
      const before = JSON.stringify(config, null, 2);
      const text = change(config, before, dir) ?? JSON.stringify(config, null, 2);
      const file = join(dir, 'gateway.json');
      writeFileSync(file, typeof text === 'string' ? text : JSON.stringify(config, null, 2));
      const written = typeof text === 'string' ? text : JSON.stringify(config, null, 2);
      for (const args of [['--check', '-c', file], ['-c', file]]) {
        const { status, signal, stderr } = glbpd(host, args);
        assert.equal(status, 2, `exit ${status ?? signal}: ${stderr}`);
        const lines = stderr.split('\n').filter(Boolean);
        assert.equal(lines.length, 1, stderr);
        assert.match(lines[0], says);
        const place = /gateway\.json:(\d+):(\d+): /.exec(lines[0]);
        assert.ok(place, `no line and column: ${lines[0]}`);
        if (fault) {
          const line = written.slice(0, written.indexOf(fault)).split('\n').length;
          assert.equal(Number(place[1]), line, lines[0]);
        }
      }
    });
  }

  await t.test('several mistakes are told in one run', () => {
    const config = JSON.parse(pristine);
    config.groups[0].priority = 0;
    config.nod = 'x';
    const file = join(cluster.dir, 'gateway.json');
    writeFileSync(file, JSON.stringify(config, null, 2));
    const { status, stderr } = glbpd(host, ['--check', '-c', file]);
    assert.equal(status, 2);
    assert.equal(stderr.split('\n').filter(Boolean).length, 2, stderr);
  });

  await t.test('a file that is not there', () => {
    const { status, stderr } = glbpd(host, ['-c', join(cluster.dir, 'nowhere.json')]);
    assert.equal(status, 2);
    assert.match(stderr, /nowhere\.json/);
  });

  await t.test('port in use: exit 1, and the first agent is left alone', async () => {
    host.config = JSON.parse(pristine);
    const agent = host.startAgent();
    for (const end = now() + 5000; (await host.get('/health')).code !== 200;) {
      assert.ok(now() < end, agent.text());
      await sleep(20);
    }
    const config = JSON.parse(pristine);
    config.control = join(cluster.dir, 'other.sock');
    config.state_dir = join(cluster.dir, 'other');
    config.transport.listen = '0.0.0.0:3223';
    const file = join(cluster.dir, 'second.json');
    writeFileSync(file, JSON.stringify(config, null, 2));
    assert.equal(glbpd(host, ['--check', '-c', file]).status, 0, '--check starts nothing');
    const { status, stderr } = glbpd(host, ['-c', file]);
    assert.equal(status, 1, stderr);
    assert.match(stderr, /8080.*in use/i);
    assert.equal((await host.get('/health')).code, 200);
  });
});

// [what /etc/glbpd is made by, exit code, what is said]
const PLACES = [
  ['true', 0, /^$/],
  ['touch glbpd', 0, /^$/],
  ['mkdir glbpd && echo {} >glbpd/gateway.json', 0, /^$/],
  ['mkdir glbpd && echo >glbpd/gateway.json', 2, /^\/etc\/glbpd\/gateway\.json:/],
  ['mkdir -m 000 glbpd', 2, /^\/etc\/glbpd\/gateway\.json: cannot be read: Permission denied$/m],
  ['ln -s glbpd glbpd', 2, /^\/etc\/glbpd\/gateway\.json: cannot be read: Too many levels/],
];

test('row 13: without -c, only a file that is not there makes it run with the defaults', async (t) => {
  for (const [make, code, says] of PLACES)
    await t.test(make, () => {
      // Root without a capability, so that modes count for it, and an /etc of its own.
      const script = `mount -t tmpfs none /etc && cd /etc && hostname bff-1 && ${make} && exec "$@"`;
      const { status, stderr } = spawnSync('unshare', ['--mount', '--uts', 'sh', '-c', script, 'sh',
        'setpriv', '--bounding-set=-all', '--inh-caps=-all', GLBPD, '--check'],
      { encoding: 'utf8', timeout: 10000 });
      assert.equal(status, code, stderr);
      assert.match(stderr, says);
    });
});

clusterTest('R-07: reload: nothing new and a mistake change nothing, a change is applied',
  { n: 3, ...FAST }, async (cluster) => {
    const { names, timeline } = cluster;
    const host = cluster.avg();
    const at = now();
    host.kill('SIGHUP');
    host.expectExit = false;
    await sleep(500);
    host.config.groups[0].priority = 'high';
    host.writeConfig();
    assert.equal(host.ctl('reload').status, 1, 'a mistake is refused');
    await sleep(500);
    assert.match(host.agentLog(), /groups\[0\]\.priority/);
    assert.deepEqual(takeovers(timeline, names, at), []);
    assert.deepEqual(moves(timeline, names, at), []);

    host.config.groups[0].priority = 120;
    host.config.groups[0].weighting = { max: 50 };
    host.writeConfig();
    const { status, stderr } = host.ctl('reload');
    assert.equal(status, 0, stderr);
    await cluster.until(at, (world) => names.every((name) => world.get(name).pool.json.gateways
      .some((g) => g.id === host.name && g.weight === 50)), { timeout: 3000, what: 'weight 50' });
    assert.equal((await host.status()).groups[0].priority, 120);
    assert.deepEqual(takeovers(timeline, names, at), []);
    assert.ok(converged(names)(timeline.world()));
  });

clusterTest('reload: a group removed goes on, with its checks, and may come back',
  { n: 1, ...FAST }, async (cluster) => {
    const [host] = cluster.hosts;
    const [web] = host.config.groups;
    const reload = (groups) => {
      host.config.groups = groups;
      host.writeConfig();
      const { status, stdout, stderr } = host.ctl('reload');
      assert.equal(status, 0, stderr);
      return stdout;
    };
    const other = { ...web, name: 'other', id: 77 };
    assert.match(reload([other]), /group \w+ \(id \d+\): is removed by a restart only/);
    assert.match(reload([other]), /removed by a restart only[^]*id 77\): is added by a restart only/);
    host.bff.kill('SIGKILL');
    await cluster.until(now(), (world) => world.get(host.name).pool.json.degraded,
      { timeout: 5000, what: 'its checks see the BFF fail' });
    assert.doesNotMatch(reload([web]), /restart/);
    assert.equal((await host.status()).groups.length, 1);
  });

clusterTest('reload: a url that is taken out of the file is the default again', { n: 1, ...FAST,
  patch(config) {
    config.groups[0].url = 'http://bff.test:3000';
  } }, async (cluster) => {
  const [host] = cluster.hosts;
  delete host.config.groups[0].url;
  host.writeConfig();
  assert.equal(host.ctl('reload').status, 0);
  await cluster.until(now(), urlIs(host, `http://${ip4(host.i)}:3000`),
    { timeout: 5000, what: 'the default url' });
});

clusterTest('reload: a file that hangs is waited for by nobody', { n: 1, ...FAST }, async (cluster, t) => {
  const [host] = cluster.hosts;
  const says = (what) => cluster.until(now(), () => host.agentLog().includes(what),
    { timeout: 5000, what });
  const begun = now();
  rmSync(host.file);
  run('mkfifo', [host.file]); // to open it for reading waits until somebody writes
  const first = host.ctl('reload');
  assert.equal(first.status, 1);
  assert.match(first.stderr, /gateway\.json: not read within 5 s/);
  within(t, 'the first one is told', now() - begun, 5000);
  const at = now();
  const second = host.ctl('reload');
  assert.equal(second.status, 1);
  assert.match(second.stderr, /gateway\.json: an earlier reload still waits for it/);
  within(t, 'the second one is told', now() - at, 1000);
  assert.equal((await host.status()).groups[0].state, 'Active');

  const wanted = join(host.dir, 'wanted.json');
  host.config.groups[0].priority = 120;
  writeFileSync(wanted, JSON.stringify(host.config));
  const cat = new Process(['sh', '-c', 'exec cat "$0" >"$1"', wanted, host.file],
    { log: host.log('cat') });
  await cat.exited;
  await says('gateway.json is read again');
  assert.equal((await host.status()).groups[0].priority, 100, 'it was refused, and is');
  host.writeConfig();
  assert.equal(host.ctl('reload').status, 0);
  assert.equal((await host.status()).groups[0].priority, 120);

  rmSync(host.file);
  run('mkfifo', [host.file]);
  host.kill('SIGHUP');
  await sleep(300);
  const stopped = now();
  host.expectExit = true;
  const exit = await host.agent.end();
  assert.equal(exit.code, 0, 'SIGTERM does not wait for it');
  within(t, 'ended', now() - stopped, 1000);
});

clusterTest('reload: a file nested as deep as can be read costs nobody the stack', { n: 1, ...FAST },
  async (cluster) => {
    const [host] = cluster.hosts;
    for (const depth of [2000, 100000]) {
      writeFileSync(host.file, `{"x": ${'['.repeat(depth)}${']'.repeat(depth)}}`);
      const { status, stderr } = host.ctl('reload');
      assert.equal(status, 1, stderr);
      assert.match(stderr, depth < 2048 ? /x: unknown key/ : /maximum parsing depth/);
    }
    assert.equal((await host.status()).groups[0].state, 'Active');
  });
