// Rows 2 to 6 of the acceptance table: what happens, measured. Each function does one run on a
// converged cluster and leaves it converged. Times in ms.
import {
  actives, converged, equalPools, movedFrom, moves, oneAvg, servedBy, takeovers,
} from '../lib/predicates.mjs';
import { now, sleep } from '../lib/sh.mjs';

const PATIENCE = 20000;

const namesOf = (hosts) => hosts.map(({ name }) => name);

/** A moment at random within one hello, so that runs do not all begin in step. */
const anyPhase = (cluster) => sleep(Math.random() * (cluster.options.hello ?? 1000));

/** Row 2. A prepared cluster whose agents do not run yet. */
export async function coldStart(cluster) {
  const { names } = cluster;
  const at = now();
  for (const host of cluster.hosts) host.startAgent();
  await cluster.until(at, converged(names), { timeout: PATIENCE, what: 'the cold start' });
  await sleep(500);
  const equal = equalPools(names);
  const served = servedBy(names, names);
  return {
    avg_ms: cluster.timeline.settled(at, oneAvg(names)) - at,
    pools_ms: cluster.timeline.settled(at, (w) => equal(w) && served(w)) - at,
  };
}

async function takeover(cluster, at, old) {
  const rest = namesOf(cluster.others(old));
  await cluster.until(at, oneAvg(rest), { timeout: PATIENCE, what: 'a new AVG' });
  await cluster.until(at, movedFrom(rest, old.name), { timeout: PATIENCE,
    what: 'the slots of the lost AVG' });
  return {
    avg_ms: cluster.timeline.first(at, (world) => actives(world, rest).length > 0) - at,
    pool_ms: cluster.timeline.settled(at, movedFrom(rest, old.name)) - at,
  };
}

/** Row 3: agent and BFF of the AVG are killed together. */
export async function crashAvg(cluster) {
  const old = cluster.avg();
  await anyPhase(cluster);
  const result = await takeover(cluster, old.crash(), old);
  await cluster.revive(old);
  return result;
}

/** Row 3: the AVG's host is cut off from the network, its processes live on. */
export async function cutAvg(cluster) {
  const old = cluster.avg();
  await anyPhase(cluster);
  const at = now();
  cluster.net.isolate(old.i);
  const result = await takeover(cluster, at, old);
  const healed = now();
  cluster.net.heal();
  await cluster.until(healed, converged(cluster.names), { timeout: PATIENCE, what: 'the heal' });
  return result;
}

/** Row 4: SIGTERM of the AVG. failures: answers of /pool elsewhere that were errors or empty. */
export async function stopAvg(cluster) {
  const old = cluster.avg();
  const rest = namesOf(cluster.others(old));
  await anyPhase(cluster);
  const at = old.kill('SIGTERM');
  const { avg_ms, pool_ms } = await takeover(cluster, at, old);
  const exit = await old.agent.exited;
  const exit_ms = now() - at;
  await sleep(200);
  const failures = rest.flatMap((name) => cluster.timeline.seen(name, 'pool', at)
    .filter((seen) => seen.code !== 200 || seen.json.gateways.length === 0)
    .map((seen) => `${name}: ${seen.code} ${seen.error ?? seen.body}`));
  await cluster.revive(old);
  return { avg_ms, pool_ms, exit_ms, code: exit.code, failures };
}

/** Row 5: the BFF of `host` dies and returns, its agent lives. */
export async function loseBff(cluster, host) {
  const { names } = cluster;
  const before = cluster.avg().name;
  await sleep(Math.random() * host.config.groups[0].checks[0].interval_ms);
  const at = now();
  host.bff.kill('SIGKILL');
  await cluster.until(at, movedFrom(names, host.name), { timeout: PATIENCE,
    what: `the slot of ${host.name}` });
  const moved_ms = cluster.timeline.settled(at, movedFrom(names, host.name)) - at;
  await sleep(500);
  await host.startBff();
  const back = now();
  await cluster.until(back, converged(names), { timeout: 60000, what: 'its return' });
  return {
    moved_ms,
    back_ms: cluster.timeline.settled(back, converged(names)) - back,
    avg_kept: cluster.avg().name === before,
  };
}

/** Row 6: the AVG is stopped for `ms` and goes on.
 *  back_ms: from then until all follow one AVG; returned: it was AVG again after it knew better. */
export async function pauseAvg(cluster, ms) {
  const old = cluster.avg();
  const { names, timeline } = cluster;
  const { hold, hello } = cluster.options;
  const others = namesOf(cluster.others(old));
  const at = old.kill('SIGSTOP');
  await sleep(ms);
  const on = now();
  const stopped_ms = on - at;
  old.kill('SIGCONT');
  await cluster.until(on, converged(names), { timeout: PATIENCE, stable: hold + 2 * hello,
    what: 'one AVG after the pause' });
  await sleep(2 * hold);
  // Its HTTP threads show the old state until its loop has run: from when on does it know better?
  const knows = timeline.first(on, (world) => {
    const { d } = world.get(old.name).status;
    return d !== null && d.groups[0].state !== 'Active';
  });
  return {
    stopped_ms,
    takeovers: takeovers(timeline, others, at),
    moves: moves(timeline, names, at),
    back_ms: timeline.settled(on, oneAvg(names)) - on,
    returned: takeovers(timeline, [old.name], knows ?? on).length > 0,
    servedOldAsFresh: timeline.asked(old.name, 'pool', on)
      .filter((seen) => seen.json && !seen.stale && seen.json.avg === old.name).length > 0,
    old: old.name,
    avg: cluster.avg().name,
  };
}

/** Row 6: agent and BFF of the AVG are killed and started again. */
export async function restartAvg(cluster) {
  const old = cluster.avg();
  const { names, timeline } = cluster;
  const { hold } = cluster.options;
  await takeover(cluster, old.crash(), old);
  await sleep(2 * hold); // with preempt on, a third may still take the role from the standby
  const at = now();
  await cluster.revive(old);
  await sleep(3 * hold);
  return { old: old.name, avg: cluster.avg().name, takeovers: takeovers(timeline, names, at) };
}
