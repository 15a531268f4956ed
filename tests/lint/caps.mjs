// Caps of the style: a function 70 lines, a file 500, blocks nested 4 deep.
import { functions } from './c-tokens.mjs';
import { files, finish, isC, read } from './files.mjs';

const FUNCTION_LINES = 70;
const FILE_LINES = 500;
const NESTING = 4;
const isSource = (path) => isC(path) || /\.(mjs|ts|vue|sh)$|(^|\/)(run|CMakeLists\.txt)$/.test(path);

const findings = [];
for (const path of files(isSource)) {
  const source = read(path);
  const lines = source.split('\n').length - 1;
  if (lines > FILE_LINES)
    findings.push({ path, line: FILE_LINES, text: `${lines} lines, the cap is ${FILE_LINES}: `
      + 'split the file where its subject divides' });
  if (!isC(path)) continue;
  for (const { name, first, last, depth, deepest } of functions(source)) {
    const length = last - first + 1;
    if (length > FUNCTION_LINES)
      findings.push({ path, line: first, text: `${name}() has ${length} lines, the cap is `
        + `${FUNCTION_LINES}: give a part of it a name of its own` });
    if (depth > NESTING)
      findings.push({ path, line: deepest, text: `${name}() nests ${depth} deep, the cap is `
        + `${NESTING}: return early or take the inner loop out` });
  }
}
finish(findings);
