// The rows of tests/scenarios.md: each id has one, each names a test that is there and carries the id,
// and each test that carries an id is named there.
import { fileURLToPath } from 'node:url';
import { files, finish, read } from './files.mjs';

const TABLE = 'tests/scenarios.md';
const pad = (n) => String(n).padStart(2, '0');

export const IDS = [...Array.from({ length: 70 }, (_, k) => `R-${pad(k + 1)}`),
  ...Array.from({ length: 19 }, (_, k) => `X${k + 1}`)];

const inText = (text) => text.match(/\b(R-\d\d|X\d{1,2})\b/g) ?? [];
const inName = (name) => name.split('_').filter((word) => /^(r\d\d|x\d{1,2})$/.test(word))
  .map((word) => word.toUpperCase().replace('R', 'R-'));

// How each kind of test says its ids: [path of the tests, what finds names, ids of a name].
const KINDS = [
  [/^tests\/(unit|spec)\/\w+\.c$/, /START_TEST\((\w+)\)/g, inName],
  [/^tests\/cluster\/\w+\.test\.mjs$/, /(?:clusterTest|test)\(\s*(?:'([^']*)'|`([^`]*)`)/g,
    (title) => inText(title.split(': ')[0])],
  [/^tests\/scenario\/\w+\.txt$/, /^# (.*): /g, (head) => inText(head.split(': ')[0])],
];

/** Every test that carries an id: {id, file (below tests/), name ("" for a scenario)}. */
export function carried() {
  return files((path) => KINDS.some(([where]) => where.test(path)), 'tests').flatMap((path) => {
    const [, pattern, ids] = KINDS.find(([where]) => where.test(path));
    const script = path.endsWith('.txt');
    return [...read(path).matchAll(pattern)].flatMap(([, first, second]) => ids(first ?? second)
      .map((id) => ({ id, file: path.slice('tests/'.length), name: script ? '' : first ?? second })));
  });
}

/** The rows of the table, likewise, with their lines. */
function told() {
  return read(TABLE).split('\n').flatMap((text, k) => {
    const cells = text.split(' | ');
    const id = /^\| (\S+)$/.exec(cells[0])?.[1];
    const test = /^\[(.*?)\]\(\1\)(?: `(.*)`)?$/.exec(cells[3] ?? '');
    return IDS.includes(id) ? [{ id, line: k + 1, file: test?.[1] ?? '', name: test?.[2] ?? '',
      what: cells[1], result: cells[4] }] : [];
  });
}

function check() {
  const key = ({ id, file, name }) => `${id} ${file} ${name}`;
  const tests = new Map(carried().map((test) => [key(test), test]));
  const rows = told();
  const named = new Set(rows.map(key));
  const findings = IDS.filter((id) => !rows.some((row) => row.id === id))
    .map((id) => ({ path: TABLE, line: 1, text: `${id} has no row: write its test, and the row` }));
  for (const row of rows)
    if (!tests.has(key(row)))
      findings.push({ path: TABLE, line: row.line,
        text: `${row.id}: no such test of that id in ${row.file || 'no file'}: ${row.name}` });
  for (const [text, { id, file }] of tests)
    if (!named.has(text))
      findings.push({ path: `tests/${file}`, line: 1,
        text: `${text.slice(id.length + file.length + 2) || 'it'} says ${id}, ${TABLE} does not` });
  finish(findings);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) check();
