// Row 14: the AVG is killed while the standby serves two clients that never pause and holds 2,000
// idle connections.
import { ip4, ip6 } from '../lib/net.mjs';
import { sleep } from '../lib/sh.mjs';
import { crashAvg } from './failover.mjs';

const IDLE = 2000;
const PARALLEL = 16;

/** The standby as the AVG names it; it may come a hello after the pools are equal. */
async function standbyOf(cluster, avg) {
  for (let tries = 0; tries < 100; tries++) {
    const { groups: [{ standby }] } = await avg.status();
    if (standby) return cluster.host(standby);
    await sleep(50);
  }
  throw new Error(`${avg.name} names no standby`);
}

export async function loadedCrash(cluster) {
  const avg = cluster.avg();
  const standby = await standbyOf(cluster, avg);
  const third = cluster.others(avg, standby)[0] ?? standby;
  const target = cluster.options.ipv6 ? ip6(standby.i) : ip4(standby.i);
  const tools = [third, standby].map(({ i }) => cluster.tool(i, 'load.mjs', [target, 8080]));
  const { open } = await tools[0].ask({ idle: IDLE });
  await Promise.all(tools.map((tool) => tool.ask({ saturate: PARALLEL })));
  await sleep(2000);
  const gaps = [];
  for (const host of cluster.hosts) {
    const { node, groups: [{ members }] } = await host.status();
    gaps.push(...members.filter(({ alive }) => alive)
      .map((member) => ({ pair: `${member.node} at ${node}`, ms: member.max_gap_ms })));
  }
  const result = await crashAvg(cluster);
  const ends = await Promise.all(tools.map((tool) => tool.ask({ stop: true })));
  const sum = (key) => ends.reduce((total, end) => total + end[key], 0);
  return { ...result, gaps, open, rate: sum('rate'), requests: sum('requests'),
    failed: sum('failed'), empty: sum('empty') };
}
