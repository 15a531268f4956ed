// README's table of config keys is what `glbpd --print-keys` prints.
//   node tests/lint/keys.mjs --write    puts it there
import { spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { finish, read, ROOT } from './files.mjs';

const BUILDS = ['release', 'asan-ubsan', 'dev'].map((name) => join(ROOT, `build/${name}/bin/glbpd`));
const PLACE = /(<!-- keys:[^\n]*-->\n)([\s\S]*?)(<!-- \/keys -->)/;
const path = 'README.md';

const glbpd = process.env.GLBPD ?? BUILDS.find(existsSync);
if (!glbpd) finish([{ path, line: 1, text: 'no glbpd to compare with: build it first' }]);
const { stdout, status } = spawnSync(glbpd, ['--print-keys'], { encoding: 'utf8' });
const readme = read(path);
const place = PLACE.exec(readme);
const wanted = `\n${stdout.trim()}\n\n`;
if (status !== 0 || !place)
  finish([{ path, line: 1, text: place ? `${glbpd} --print-keys failed`
    : 'the marks of the table of keys are gone: put them back' }]);
if (process.argv.includes('--write')) writeFileSync(join(ROOT, path), readme.replace(PLACE,
  (_, begin, before, end) => begin + wanted + end));
else if (place[2] !== wanted)
  finish([{ path, line: readme.slice(0, place.index).split('\n').length,
    text: 'the table of keys is old: node tests/lint/keys.mjs --write' }]);
