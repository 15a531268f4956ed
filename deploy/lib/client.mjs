// A client that loops over a pool, as a frontend does: it fetches the pool from any agent, spreads
// its requests by weight, and tries the next gateway when one fails.
//
//   client.mjs --agents URL,URL,… [--every-ms 50] [--say-ms 5000] [--report FILE]
//
//   --every-ms   between two requests
//   --say-ms     between two lines on stdout; 0: only the last one
//   --report     file that always holds the counts, as JSON
//
// SIGTERM ends it. A request is lost when no gateway of the pool answered it.
import { renameSync, writeFileSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { parseArgs } from 'node:util';

const PATIENCE_MS = 1000;
const POOL_MS = 1000;
const AVOID_MS = 3000; // how long a gateway that failed is asked last

const { values: options } = parseArgs({ options: {
  agents: { type: 'string' },
  'every-ms': { type: 'string', default: '50' },
  'say-ms': { type: 'string', default: '5000' },
  report: { type: 'string' },
} });
const agents = options.agents.split(',');
const keepAlive = new Agent({ keepAlive: true });
const counts = { requests: 0, failed: 0, lost: 0, pools: 0, pool_failed: 0, gateways: {} };
const avoided = new Map(); // url -> until when
let pool = null;
let turn = 0; // of the agents
let credits = new Map(); // slot -> smooth weighted round robin

/** GET with one time limit over all; resolves with the body of a 200, rejects otherwise. */
function fetchText(url) {
  return new Promise((resolve, reject) => {
    const request = get(url, { agent: keepAlive, signal: AbortSignal.timeout(PATIENCE_MS) },
      (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (chunk) => { text += chunk; });
        response.on('end', () => (response.statusCode === 200 ? resolve(text)
          : reject(new Error(`status ${response.statusCode}`))));
        response.on('error', reject);
      });
    request.on('error', reject);
  });
}

async function fetchPool() {
  for (let tries = 0; tries < agents.length; tries++) {
    try {
      pool = JSON.parse(await fetchText(agents[turn % agents.length]));
      counts.pools += 1;
      return;
    } catch {
      counts.pool_failed += 1;
      turn += 1; // the next agent from now on
    }
  }
}

/** The gateways in the order in which to try them: the weighted choice first, those that failed last. */
function choices() {
  const usable = (pool?.gateways ?? []).filter(({ alive, weight }) => alive && weight > 0);
  const total = usable.reduce((sum, { weight }) => sum + weight, 0);
  const next = new Map(usable.map(({ slot, weight }) => [slot, (credits.get(slot) ?? 0) + weight]));
  usable.sort((a, b) => next.get(b.slot) - next.get(a.slot) || a.slot - b.slot);
  if (usable.length) next.set(usable[0].slot, next.get(usable[0].slot) - total);
  credits = next;
  const late = ({ url }) => ((avoided.get(url) ?? 0) > Date.now() ? 1 : 0);
  const urls = usable.sort((a, b) => late(a) - late(b)).map(({ url }) => url);
  return [...new Set(urls)];
}

async function request() {
  for (const url of choices()) {
    try {
      const { node } = JSON.parse(await fetchText(`${url}/api/whoami`));
      counts.gateways[node] = (counts.gateways[node] ?? 0) + 1;
      counts.requests += 1;
      return;
    } catch {
      counts.failed += 1;
      avoided.set(url, Date.now() + AVOID_MS);
    }
  }
  counts.requests += 1;
  counts.lost += 1;
}

function say() {
  const gateways = Object.entries(counts.gateways).sort().map(([node, n]) => `${node} ${n}`);
  console.log(`client: ${counts.requests} requests: ${gateways.join(', ') || 'none answered'}; `
    + `${counts.failed} tries failed, ${counts.lost} requests lost`);
}

function report() {
  if (!options.report) return;
  writeFileSync(`${options.report}.new`, `${JSON.stringify(counts)}\n`);
  renameSync(`${options.report}.new`, options.report);
}

await fetchPool();
setInterval(fetchPool, POOL_MS);
setInterval(request, Number(options['every-ms']));
setInterval(report, 100);
if (Number(options['say-ms'])) setInterval(say, Number(options['say-ms']));
process.on('SIGINT', () => {}); // the demo ends it
process.on('SIGTERM', () => {
  report();
  say();
  process.exit(0);
});
