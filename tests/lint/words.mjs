// Words that mark unfinished work, blanks at line ends, and what .editorconfig asks for.
import { files, finish, isC, read } from './files.mjs';

const UNFINISHED = /\b(TODO|FIXME|XXX|HACK)\b|\bfor now\b/;
const isText = (path) => isC(path)
  || /\.(mjs|ts|vue|sh|md|json|yml|yaml|txt|cmake|service|conf)$|(^|\/)(run|Dockerfile|demo)$/.test(path);

const findings = [];
for (const path of files(isText)) {
  const text = read(path);
  const add = (line, what) => findings.push({ path, line, text: what });
  text.split('\n').forEach((content, k) => {
    const line = k + 1;
    if (UNFINISHED.test(content) && !path.startsWith('tests/lint/') && !/\.md$/.test(path))
      add(line, `"${UNFINISHED.exec(content)[0]}": finish it, or open an issue`);
    if (/[ \t]+$/.test(content)) add(line, 'blanks at the end of the line: remove them');
    if (/\t/.test(content) && isC(path)) add(line, 'a tab: indent by four blanks');
    if (/\r$/.test(content)) add(line, 'a carriage return: end lines with LF');
  });
  if (text && !text.endsWith('\n')) add(text.split('\n').length, 'no newline at the end: add one');
}
finish(findings);
