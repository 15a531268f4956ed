// The files of the tree that lint looks at, whether committed or not.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const SKIP = new Set(['.git', 'build', 'node_modules', 'corpus', 'seeds']);

/** Paths below `dir` (relative to the root) for which keep(path) is true, in order of name. */
export function files(keep, dir = '.') {
  const entries = readdirSync(join(ROOT, dir), { withFileTypes: true })
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  return entries.flatMap((entry) => {
    const path = dir === '.' ? entry.name : `${dir}/${entry.name}`;
    if (entry.isDirectory()) return SKIP.has(entry.name) ? [] : files(keep, path);
    return entry.isFile() && keep(path) ? [path] : [];
  });
}

export const read = (path) => readFileSync(join(ROOT, path), 'utf8');

export const isC = (path) => /\.[ch]$/.test(path);

/** Prints what was found as file:line: text, and ends with the exit status of a check. */
export function finish(findings) {
  for (const { path, line, text } of findings) console.log(`${path}:${line}: ${text}`);
  process.exit(findings.length ? 1 : 0);
}
