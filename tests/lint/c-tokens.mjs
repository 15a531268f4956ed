// C source as tokens with their lines: enough to find functions, blocks and calls, without a
// compiler. Comments, literals and preprocessor lines are dropped.

const TOKEN = /\/\*[\s\S]*?\*\/|\/\/[^\n]*|"(?:\\[\s\S]|[^"\\])*"|'(?:\\[\s\S]|[^'\\])*'|^[ \t]*#(?:\\\n|[^\n])*|[A-Za-z_]\w*|\d[\w.]*|\n|[^\s]/gm;

/** [{text, line}]; literals stand as "" and ''. */
export function tokens(source) {
  const list = [];
  let line = 1;
  for (const [text] of source.matchAll(TOKEN)) {
    if (/^[A-Za-z_0-9]/.test(text) || (text.length === 1 && text !== '\n'))
      list.push({ text, line });
    else if (text[0] === '"' || text[0] === "'") list.push({ text: text[0] + text[0], line });
    line += text.split('\n').length - 1;
  }
  return list;
}

const isName = (text) => /^[A-Za-z_]\w*$/.test(text ?? '');
const VALUE = new Set(['return', 'sizeof', 'case']);

/**
 * Function definitions: [{name, first, last, depth, deepest}]. first is the line of the name, last
 * that of its closing brace, depth the deepest nesting of blocks within its body and deepest where.
 */
export function functions(source) {
  const list = tokens(source);
  const found = [];
  const parens = [];
  const braces = [];
  let closed = null; // the token before the parenthesis that closed last
  let current = null;

  list.forEach(({ text, line }, k) => {
    const before = list[k - 1]?.text;
    if (text === '(') parens.push(k);
    else if (text === ')') closed = parens.pop() - 1;
    else if (text === '{') {
      const head = before === ')' ? list[closed] : null;
      const outer = braces.length === 0 && head && isName(head.text);
      const control = head ? isName(head.text) && !VALUE.has(head.text)
        : ['else', 'do', ';', ':', '{', '}'].includes(before) && !braces.some(({ data }) => data);
      if (outer) current = { name: head.text, first: head.line, depth: 0, deepest: line };
      braces.push({ block: Boolean(current) && !outer && control, data: !current || !(outer
        || control) });
      const depth = braces.filter(({ block }) => block).length;
      if (current && depth > current.depth) Object.assign(current, { depth, deepest: line });
    } else if (text === '}') {
      braces.pop();
      if (current && braces.length === 0) {
        found.push({ ...current, last: line });
        current = null;
      }
    }
  });
  return found;
}

/** Names that are called or used as a function: [{name, line}]. */
export function calls(source) {
  const list = tokens(source);
  return list.flatMap(({ text, line }, k) =>
    (isName(text) && list[k + 1]?.text === '(' && !['.', '>'].includes(list[k - 1]?.text)
      ? [{ name: text, line }] : []));
}
