// Row 15: two agents live on while two others join, leave, are killed, and all are told to reload.
import { processUse } from '../lib/net.mjs';
import { converged } from '../lib/predicates.mjs';
import { now, sleep } from '../lib/sh.mjs';
import { random } from './partition.mjs';

export async function churn(cluster, count, seed = 1) {
  const next = random(seed);
  const survivors = cluster.hosts.slice(0, 2);
  const guests = cluster.hosts.slice(2);
  const done = { joins: 0, leaves: 0, kills: 0, reloads: 0 };
  let early = null;

  const step = async () => {
    const choice = next();
    if (choice < 0.2) {
      const host = survivors[Math.floor(next() * survivors.length)];
      host.config.groups[0].priority = 100 + Math.floor(next() * 20);
      host.writeConfig();
      process.kill(host.agent.pid, 'SIGHUP');
      done.reloads++;
      return;
    }
    const guest = guests[Math.floor(next() * guests.length)];
    if (!guest.agent || guest.agent.exit) {
      guest.startAgent();
      done.joins++;
    } else {
      const kill = choice < 0.6;
      guest.kill(kill ? 'SIGKILL' : 'SIGTERM');
      await guest.agent.exited;
      done[kill ? 'kills' : 'leaves']++;
    }
  };

  for (let k = 0; k < count; k++) {
    await step();
    await sleep(40 + next() * 80);
    // A fifth of the way is warm-up: buffers and pools reach their size.
    if (k >= count / 5 && !early) early = survivors.map(({ agent }) => processUse(agent.pid));
  }
  await Promise.all(guests.map(async (guest) => {
    if (guest.agent.exit) guest.startAgent();
  }));
  await cluster.until(now(), converged(cluster.names), { timeout: 30000, what: 'the end' });
  return {
    done,
    survivors: survivors.map(({ name, agent }, k) => ({ name, early: early[k],
      late: processUse(agent.pid) })),
  };
}
