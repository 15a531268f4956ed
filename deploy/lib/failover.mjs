// Kills processes as a power cut would, and measures what a survivor's pool says afterwards.
//
//   failover.mjs POOL_URL NODE PID…   prints "CLAIMED MOVED": ms until another AVG than NODE stands in
//                                     the pool, and until NODE forwards no slot in it; exit 1 after 20 s
import { Agent, get } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

const POLL_MS = 5;
const PATIENCE_MS = 20_000;
const [url, node, ...pids] = process.argv.slice(2);
const keepAlive = new Agent({ keepAlive: true });

function fetchPool() {
  return new Promise((resolve, reject) => {
    get(url, { agent: keepAlive, timeout: 1000 }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk) => { text += chunk; });
      response.on('end', () => (response.statusCode === 200 ? resolve(JSON.parse(text))
        : reject(new Error(`status ${response.statusCode}`))));
    }).on('timeout', () => reject(new Error('no answer'))).on('error', reject);
  });
}

await fetchPool(); // the connection stands before the clock runs
for (const pid of pids) process.kill(Number(pid), 'SIGKILL');
const begun = performance.now();
const since = () => Math.round(performance.now() - begun);
let claimed = null;
let moved = null;
while (claimed === null || moved === null) {
  if (since() > PATIENCE_MS) {
    console.error(`${url}: ${claimed === null ? 'no other AVG' : 'its slots did not move'} in 20 s`);
    process.exit(1);
  }
  await sleep(POLL_MS);
  const pool = await fetchPool();
  if (pool.avg !== node) claimed ??= since();
  if (!pool.gateways.some(({ id, alive }) => alive && id === node)) moved ??= since();
}
console.log(claimed, moved);
process.exit(0);
