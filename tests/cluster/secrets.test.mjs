// What an agent must not tell, and what it must not need (X8, X18).
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { chmodSync, chownSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { spawnSync } from 'node:child_process';
import { GLBPD } from './lib/cluster.mjs';
import { clusterTest } from './lib/testing.mjs';
import { converged } from './lib/predicates.mjs';
import { now } from './lib/sh.mjs';

const CALM = { hello: 200, hold: 1500 };
const NOBODY = 65534;
const KEY = randomBytes(32);
const PATHS = ['/pool', '/pool/web', '/pool/none', '/next/web', '/health', '/ready', '/status',
  '/metrics', '/', '/events', '/../etc'];

const keyed = (config) => {
  const file = join(config.state_dir, '../key');
  writeFileSync(file, `${KEY.toString('hex')}\n`, { mode: 0o600 });
  config.auth = { mode: 'enforce', keys: [{ id: 1, file }] };
  config.log.level = 'debug';
  config.http.admin_on_public = true;
};

clusterTest('X8: the key is in no log, no answer, no core file; a key open to others is refused',
  { n: 2, ...CALM, patch: keyed }, async (cluster) => {
    const [host, other] = cluster.hosts;
    const said = [];
    for (const path of PATHS) {
      const answer = await host.get(path, { port: path === '/events' ? 8081 : 8080 });
      said.push(JSON.stringify(answer));
    }
    for (const args of [['status'], ['status', '--json'], ['pool'], ['members'], ['version'],
      ['events', '-n', '1000'], ['reload'], ['check-config', host.file]]) {
      const { stdout, stderr } = host.ctl(...args);
      said.push(stdout, stderr);
    }
    const printed = spawnSync(GLBPD, ['--check', '-c', host.file], { encoding: 'utf8' });
    assert.equal(printed.status, 0, printed.stderr);
    said.push(printed.stdout, printed.stderr, host.agentLog(), other.agentLog());
    said.push(readFileSync(join(host.config.state_dir, 'state'), 'latin1'));
    const all = said.join('\n');
    assert.ok(all.length > 5000, 'next to nothing was said');
    for (const form of [KEY.toString('latin1'), KEY.toString('hex'), KEY.toString('base64'),
      KEY.toString('base64url')])
      for (const part of [form.slice(0, 12), form.slice(-12)])
        assert.ok(!all.toLowerCase().includes(part.toLowerCase()), 'a part of the key was said');
    assert.match(readFileSync(`/proc/${host.agent.pid}/limits`, 'utf8'),
      /^Max core file size +0 +0 /m);

    chmodSync(host.config.auth.keys[0].file, 0o644);
    const refused = spawnSync(GLBPD, ['--check', '-c', host.file], { encoding: 'utf8' });
    assert.equal(refused.status, 2);
    assert.match(refused.stderr, /key/);
    assert.ok(!refused.stderr.includes(KEY.toString('hex')));
  });

clusterTest('X18: an agent works as nobody, without one capability', { n: 2, ...CALM, patch: keyed,
  started: false }, async (cluster) => {
  for (const host of cluster.hosts) {
    for (const dir of [host.dir, host.config.state_dir, join(host.dir, 'run')]) {
      mkdirSync(dir, { recursive: true });
      chownSync(dir, NOBODY, NOBODY);
    }
    chownSync(host.config.auth.keys[0].file, NOBODY, NOBODY);
    chmodSync(cluster.dir, 0o755);
    host.wrap = ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups',
      '--bounding-set=-all', '--inh-caps=-all', '--no-new-privs'];
    host.env = { GCOV_PREFIX: host.dir };
    host.startAgent();
  }
  await cluster.until(now(), converged(cluster.names), { timeout: 20000, what: 'two nobodies' });
  for (const { agent } of cluster.hosts) {
    const status = readFileSync(`/proc/${agent.pid}/status`, 'utf8');
    assert.match(status, /^Uid:\t65534\t65534/m);
    for (const set of ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'])
      assert.match(status, new RegExp(`^${set}:\\t0+$`, 'm'), set);
  }
});
