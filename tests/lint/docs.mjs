// Documents: every folder says what it is for, and every relative link leads somewhere.
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { files, finish, read, ROOT } from './files.mjs';

const TOP = ['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'LICENSE'];
const FLOORS = ['proto', 'agent', 'tests', 'deploy'];

const findings = TOP.filter((path) => !existsSync(join(ROOT, path)))
  .map((path) => ({ path, line: 1, text: 'missing: write it' }));

const folders = FLOORS.filter((floor) => existsSync(join(ROOT, floor))).flatMap((floor) => [floor,
  ...readdirSync(join(ROOT, floor), { withFileTypes: true }).filter((entry) => entry.isDirectory())
    .map((entry) => `${floor}/${entry.name}`)]);
for (const folder of folders)
  if (!existsSync(join(ROOT, folder, 'README.md')))
    findings.push({ path: `${folder}/README.md`, line: 1,
      text: 'missing: say on one page what lives here and what may not enter' });

for (const path of files((name) => name.endsWith('.md')))
  read(path).split('\n').forEach((text, k) => {
    for (const [, target] of text.matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g))
      if (!/^[a-z]+:/.test(target) && !existsSync(join(ROOT, dirname(path), target)))
        findings.push({ path, line: k + 1, text: `the link to ${target} leads nowhere` });
  });
finish(findings);
