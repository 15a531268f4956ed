// Programs in JavaScript parse.
//   node --experimental-vm-modules --no-warnings tests/lint/parse.mjs
import { SourceTextModule } from 'node:vm';
import { files, finish, read } from './files.mjs';

const findings = [];
for (const path of files((name) => name.endsWith('.mjs')))
  try {
    new SourceTextModule(read(path).replace(/^#!.*/, ''), { identifier: path });
  } catch (error) {
    const line = error.stack.split(`${path}:`)[1]?.split('\n')[0] ?? 1;
    findings.push({ path, line, text: `does not parse: ${error.message}` });
  }
finish(findings);
