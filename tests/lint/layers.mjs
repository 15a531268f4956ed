// The dependency rule: nothing below includes anything above, and no file includes itself by way
// of others. Floors from below: proto/, agent/, tests/; within proto/: wire/ below group/.
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { files, finish, isC, read, ROOT } from './files.mjs';

// In proto/ only these of the outside world.
const PURE = /^(inttypes|limits|stdalign|stdarg|stdbool|stddef|stdint|string)\.h$|^msgpack(\.h|\/)|^openssl\//;
const MUST_NOT = [
  [/^proto\/wire\//, /^proto\/(group\/|core\.h)/, 'wire/ is below group/ and the door'],
  [/^proto\//, /^(agent|tests|client|deploy)\//, 'proto/ is the lowest floor'],
  [/^agent\//, /^(tests|client|deploy)\//, 'agent/ is below tests/'],
  [/^(proto|agent)\//, /\.c$/, 'include headers only'],
];
const isTest = (path) => path.startsWith('tests/');

const findings = [];
const graph = new Map();
for (const path of files(isC)) {
  const edges = [];
  read(path).split('\n').forEach((text, k) => {
    const [, quote, name] = /^\s*#\s*include\s+(["<])([^">]+)[">]/.exec(text) ?? [];
    if (!name) return;
    const line = k + 1;
    if (quote === '<') {
      if (path.startsWith('proto/') && !PURE.test(name))
        findings.push({ path, line, text: `<${name}> in proto/: only ISO C's data headers, `
          + 'msgpack and openssl are pure enough' });
      return;
    }
    const target = existsSync(join(ROOT, name)) ? name : `${dirname(path)}/${name}`;
    if (target !== name && !isTest(path))
      findings.push({ path, line, text: `"${name}": write the path from the root of the tree` });
    for (const [from, to, why] of MUST_NOT)
      if (from.test(path) && to.test(target))
        findings.push({ path, line, text: `"${name}" must not be included here: ${why}` });
    edges.push({ target, line });
  });
  graph.set(path, edges);
}

const done = new Set();
function visit(path, trail) {
  if (done.has(path)) return;
  const at = trail.indexOf(path);
  if (at >= 0) {
    const circle = [...trail.slice(at), path];
    findings.push({ path, line: 1, text: `a circle of includes: ${circle.join(' -> ')}` });
    return;
  }
  for (const { target } of graph.get(path) ?? []) visit(target, [...trail, path]);
  done.add(path);
}
for (const path of graph.keys()) visit(path, []);
finish(findings);
