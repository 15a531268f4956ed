#!/usr/bin/env node
// A small BFF to put behind an agent: for the demo, the tests and docker-compose.
//
//   bff.mjs [--port N] [--host ADDRESS] [--name NODE] [--origin ORIGIN]
//
// PORT, HOST and NAME in the environment do the same. Default: port 3000, every address, host name; pages of
// every origin may read its answers.
//
//   GET, HEAD, OPTIONS /health       200 "ok"
//   GET, HEAD, OPTIONS /api/whoami   {"node": NAME, "pid": PID, "served": answers so far}
//   POST /fault                      from this host only: {"slow_ms": N, "status": 503}; either may be
//                                    left out (stays as it is) or 0 (healthy again)
import { createServer } from 'node:http';
import { hostname } from 'node:os';
import { parseArgs } from 'node:util';

const BODY_MAX = 1024;
const SLOW_MAX_MS = 600_000;
const CORS = {
  'Access-Control-Allow-Methods': 'GET, HEAD, OPTIONS',
  'Access-Control-Allow-Headers': '*',
  'Access-Control-Max-Age': '600',
  'Timing-Allow-Origin': '*',
};

function settings() {
  const { values } = parseArgs({ options: {
    port: { type: 'string', default: process.env.PORT || '3000' },
    host: { type: 'string', default: process.env.HOST || '' },
    name: { type: 'string', default: process.env.NAME || hostname().toLowerCase() },
    origin: { type: 'string', default: '*' },
  } });
  if (!/^\d{1,5}$/.test(values.port) || Number(values.port) > 65535)
    throw new Error(`--port ${values.port}: 0 to 65535`);
  return { ...values, port: Number(values.port) };
}

const isHere = (address = '') => /^(::ffff:)?127\./.test(address) || address === '::1';
const isTime = (value) => Number.isInteger(value) && value >= 0 && value <= SLOW_MAX_MS;

/** Sends a JSON answer; Node leaves the body out for HEAD. */
function answer(response, status, body, headers = {}) {
  const text = body === undefined ? '' : `${JSON.stringify(body)}\n`;
  response.writeHead(status, { 'Cache-Control': 'no-store',
    ...(text && { 'Content-Type': 'application/json' }),
    ...(status !== 204 && { 'Content-Length': Buffer.byteLength(text) }), ...headers });
  response.end(text);
}

async function readBody(request) {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) {
    text += chunk;
    if (text.length > BODY_MAX) throw new Error(`more than ${BODY_MAX} bytes`);
  }
  return text;
}

/** @param cors headers of every answer. */
function createBff(name, cors) {
  const fault = { slow_ms: 0, status: 0 };
  let served = 0;

  async function setFault(request, response) {
    if (!isHere(request.socket.remoteAddress))
      return answer(response, 403, { error: 'faults are set from this host only' });
    let wanted;
    try {
      wanted = JSON.parse(await readBody(request));
    } catch (error) {
      return answer(response, 400, { error: error.message }, { Connection: 'close' });
    }
    const { slow_ms: slow = fault.slow_ms, status = fault.status } = wanted ?? {};
    if (!isTime(slow) || (status !== 0 && status !== 503))
      return answer(response, 400, { error: `slow_ms: 0 to ${SLOW_MAX_MS}; status: 0 or 503` });
    Object.assign(fault, { slow_ms: slow, status });
    return answer(response, 200, fault);
  }

  function serve(method, path, response) {
    if (path !== '/health' && path !== '/api/whoami')
      return answer(response, 404, { error: 'no such path' });
    if (method === 'OPTIONS') return answer(response, 204, undefined, { Allow: 'GET, HEAD, OPTIONS' });
    if (method !== 'GET' && method !== 'HEAD')
      return answer(response, 405, { error: 'GET, HEAD or OPTIONS' }, { Allow: 'GET, HEAD, OPTIONS' });
    if (fault.status) return answer(response, fault.status, { error: 'told to fail' });
    if (path === '/health') return answer(response, 200, { status: 'ok', node: name });
    served += 1;
    return answer(response, 200, { node: name, pid: process.pid, served });
  }

  return createServer((request, response) => {
    for (const [header, value] of Object.entries(cors)) response.setHeader(header, value);
    const path = request.url.split('?', 1)[0];
    if (path === '/fault' && request.method === 'POST') {
      setFault(request, response).catch(() => response.destroy());
      return;
    }
    request.resume();
    if (fault.slow_ms) setTimeout(serve, fault.slow_ms, request.method, path, response);
    else serve(request.method, path, response);
  });
}

function main() {
  const { port, host, name, origin } = settings();
  const server = createBff(name, { ...CORS, 'Access-Control-Allow-Origin': origin });
  server.on('error', (error) => {
    console.error(`bff ${name}: ${error.message}`);
    process.exit(1);
  });
  server.listen({ port, host: host || undefined }, () => {
    console.log(`bff ${name} on ${host || '*'}:${server.address().port}, pid ${process.pid}`);
  });
  // Requests in work are finished; connections that only wait are closed.
  const stop = () => {
    server.close(() => process.exit(0));
    server.closeIdleConnections?.();
    setTimeout(() => process.exit(0), 2000).unref();
  };
  process.once('SIGTERM', stop).once('SIGINT', stop);
}

try {
  main();
} catch (error) {
  console.error(`bff.mjs: ${error.message}`);
  process.exit(2);
}
