#!/usr/bin/env node
// Serves a built page and, in the demo, does what its buttons ask for.
//
//   page.mjs --root DIR [--config FILE] [--host ADDRESS] [--port N] [--control PROGRAM]
//
//   --root     folder of files, read once, at the start
//   --config   JSON file that is served as /config.json, read anew each time
//   --host     default 127.0.0.1
//   --port     default 8088; 0: one that is free
//   --control  program that is run with a node's name and an action for each POST /control of
//              {"node": "bff-1", "what": "kill"}; only on a loopback address. The nodes are the keys of "nodes"
//              in the config, and the page must come from here: other pages' requests are refused.
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join, relative, sep } from 'node:path';
import { parseArgs } from 'node:util';

const BODY_MAX = 1024;
const CONTROL_MS = 30_000;
const TYPES = {
  '.html': 'text/html; charset=utf-8', '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8', '.json': 'application/json', '.svg': 'image/svg+xml',
  '.png': 'image/png', '.ico': 'image/x-icon',
};
const SAFE = {
  'X-Content-Type-Options': 'nosniff',
  // Whatever the page loads comes from here; it may ask any gateway.
  'Content-Security-Policy': "default-src 'self'; img-src 'self' data:; connect-src http: https:; "
    + "base-uri 'none'; frame-ancestors 'none'",
};
const isLoopback = (host) => /^(127\.|localhost$|::1$)/.test(host);

function settings() {
  const { values } = parseArgs({ options: {
    root: { type: 'string' }, config: { type: 'string' }, control: { type: 'string' },
    host: { type: 'string', default: '127.0.0.1' }, port: { type: 'string', default: '8088' },
  } });
  if (!values.root) throw new Error('--root wants the folder of the built page');
  if (!/^\d{1,5}$/.test(values.port) || Number(values.port) > 65535)
    throw new Error(`--port ${values.port}: 0 to 65535`);
  if (values.control && !isLoopback(values.host))
    throw new Error(`--control only with a loopback address, not ${values.host}`);
  return { ...values, port: Number(values.port) };
}

/** Every file below `root` by the path of its url: what is not in here cannot be asked for. */
function readFiles(root) {
  const found = new Map();
  for (const entry of readdirSync(root, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = join(entry.parentPath ?? entry.path, entry.name);
    found.set(`/${relative(root, file).split(sep).join('/')}`, readFileSync(file));
  }
  const index = found.get('/index.html');
  if (!index) throw new Error(`${root}: there is no index.html: build the page first`);
  return found.set('/', index);
}

function answer(response, status, body, headers = {}) {
  response.writeHead(status, { ...SAFE, 'Content-Length': Buffer.byteLength(body), ...headers });
  response.end(body);
}

const answerJson = (response, status, value) => answer(response, status, `${JSON.stringify(value)}\n`,
  { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' });

async function readBody(request) {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) {
    text += chunk;
    if (text.length > BODY_MAX) throw new Error(`more than ${BODY_MAX} bytes`);
  }
  return text;
}

/** Why a request for /control is not from our own page; '' when it is. */
function foreign({ headers: { host = '', origin, 'content-type': type = '' } }) {
  // A name that another site made to point here is not ours either.
  if (!isLoopback(host.replace(/:\d+$/, ''))) return `Host ${host} is not this server`;
  if (origin !== `http://${host}`) return 'only for the page of this server';
  return type.startsWith('application/json') ? '' : 'Content-Type must be application/json';
}

async function control(program, config, request, response) {
  const why = foreign(request);
  if (why) return answerJson(response, 403, { error: why });
  let wanted;
  try {
    wanted = JSON.parse(await readBody(request));
  } catch (error) {
    return answerJson(response, 400, { error: error.message });
  }
  const { node, what } = wanted ?? {};
  const { nodes = {} } = JSON.parse(config());
  if (!Object.hasOwn(nodes, node) || !/^[a-z]{1,16}$/.test(what))
    return answerJson(response, 400, { error: `node: one of ${Object.keys(nodes).join(', ')}; what: an action` });
  const said = await run(program, [node, what]);
  return said === null ? answerJson(response, 200, {}) : answerJson(response, 500, { error: said });
}

/** Resolves with null, or with what the program complained of. Its stdout is ours: agents log there. */
function run(program, args) {
  return new Promise((resolve) => {
    const child = spawn(program, args, { stdio: ['ignore', 'inherit', 'pipe'], timeout: CONTROL_MS });
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text) => { said += text; });
    child.on('error', (error) => resolve(error.message));
    child.on('close', (code) => resolve(code === 0 ? null : said.trim() || `${program} failed`));
  });
}

function createPage({ root, config: file, control: program }) {
  const found = readFiles(root);
  const config = () => readFileSync(file, 'utf8');
  return createServer((request, response) => {
    const path = request.url.split('?', 1)[0];
    if (program && path === '/control' && request.method === 'POST') {
      control(program, config, request, response)
        .catch((error) => answerJson(response, 500, { error: error.message }));
      return;
    }
    request.resume();
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      answer(response, 405, '', { Allow: 'GET, HEAD' });
    } else if (file && path === '/config.json') {
      answer(response, 200, config(), { 'Content-Type': TYPES['.json'], 'Cache-Control': 'no-store' });
    } else if (found.has(path)) {
      // Only the names of assets change with what is in them.
      const keep = path.startsWith('/assets/') ? 'public, max-age=31536000, immutable' : 'no-cache';
      const type = TYPES[extname(path) || '.html'] ?? 'application/octet-stream';
      answer(response, 200, found.get(path), { 'Content-Type': type, 'Cache-Control': keep });
    } else {
      answer(response, 404, 'no such file\n', { 'Content-Type': 'text/plain' });
    }
  });
}

function main() {
  const options = settings();
  const server = createPage(options);
  server.on('error', (error) => {
    console.error(`page: ${error.message}`);
    process.exit(1);
  });
  server.listen({ port: options.port, host: options.host }, () =>
    console.log(`page: http://${options.host}:${server.address().port}`));
  for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => process.exit(0));
}

try {
  main();
} catch (error) {
  console.error(`page.mjs: ${error.message}`);
  process.exit(2);
}
