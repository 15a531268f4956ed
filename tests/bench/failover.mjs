#!/usr/bin/env node
// Measures the acceptance table on real agents in network namespaces, against the bars themselves,
// and prints it as Markdown. Never run beside other work: it measures milliseconds.
//
//   tests/bench/failover.mjs [--rows 2,3,…] [--runs 20] [--long]
//
//   --rows   only these rows (2 to 9, 14, 15); row 3c is the cut
//   --runs   runs of each failover (default 20; cold starts, pauses and heals: a quarter of it)
//   --long   row 7 a and b also for 90 s, row 9 for 10 minutes
//   GLBPD    the agent to measure (default build/release/bin/glbpd)
import { parseArgs } from 'node:util';
import { Cluster, GLBPD } from '../cluster/lib/cluster.mjs';
import { Figure, table } from './stats.mjs';
import {
  coldStart, crashAvg, cutAvg, loseBff, pauseAvg, restartAvg, stopAvg,
} from '../cluster/rows/failover.mjs';
import { CASES, loss, oneWay, partition, randomCuts } from '../cluster/rows/partition.mjs';
import { churn } from '../cluster/rows/churn.mjs';
import { loadedCrash } from '../cluster/rows/load.mjs';

const { values: options } = parseArgs({ options: {
  rows: { type: 'string' }, runs: { type: 'string', default: '20' },
  long: { type: 'boolean', default: false },
} });
const RUNS = Number(options.runs);
const FEW = Math.max(1, Math.round(RUNS / 4));
const FAST = { hello: 100, hold: 350 };
const { hello, hold } = FAST;
const SETTLE_MS = hold + 2 * hello;
const HEAL_MS = hold + 3 * hello;
const WITNESS_MS = 500;

const figures = [];
const notes = [];
const figure = (...args) => {
  const made = new Figure(...args);
  figures.push(made);
  return made;
};
const count = (row, what) => figure(row, what, { unit: 'count', max: 0 });

async function withCluster(settings, body) {
  const cluster = new Cluster(settings);
  try {
    if (settings.started === false) await cluster.prepare();
    else await cluster.start();
    await body(cluster);
  } catch (error) {
    error.message += `\n${cluster.timeline.draw()}\n${cluster.report()}`;
    throw error;
  } finally {
    const troubles = await cluster.stop();
    notes.push(...troubles);
    const late = cluster.timeline.lateness(0);
    if (late > 20) notes.push(`a poller was up to ${late} ms late: the machine was busy`);
  }
}

async function times(n, body) {
  for (let run = 0; run < n; run++) await body(run);
}

const rows = {
  async 2() {
    for (const n of [1, 2, 3, 5]) {
      const avg = figure('2', `cold start of ${n}: one AVG`, { max: 2500 });
      const pools = figure('2', `cold start of ${n}: equal pools, everyone alive`, { max: 3500 });
      await times(FEW, () => withCluster({ n, started: false }, async (cluster) => {
        const result = await coldStart(cluster);
        avg.add(result.avg_ms);
        pools.add(result.pools_ms);
      }));
    }
  },

  async 3() {
    for (const n of [3, 5]) {
      const avg = figure('3', `crash of the AVG of ${n}: new AVG`, { med: hold,
        max: 1.1 * hold + 20 });
      const pool = figure('3', `crash of the AVG of ${n}: its slot elsewhere, after that`,
        { max: 100 });
      await withCluster({ n, ...FAST }, (cluster) => times(RUNS, async () => {
        const result = await crashAvg(cluster);
        avg.add(result.avg_ms);
        pool.add(result.pool_ms - result.avg_ms);
      }));
    }
  },

  async '3c'() {
    const avg = figure('3', 'cut of the AVG\'s host: new AVG', { med: hold, max: 1.1 * hold + 20 });
    const pool = figure('3', 'cut of the AVG\'s host: its slot elsewhere',
      { max: Math.max(hold, hold / 3 + hello + WITNESS_MS) + 100 });
    await withCluster({ n: 3, ...FAST }, (cluster) => times(RUNS, async () => {
      const result = await cutAvg(cluster);
      avg.add(result.avg_ms);
      pool.add(result.pool_ms);
    }));
  },

  async 4() {
    const avg = figure('4', 'SIGTERM of the AVG: new AVG', { med: 50 });
    const failed = count('4', 'requests to /pool elsewhere that failed or were empty');
    await withCluster({ n: 3, ...FAST }, (cluster) => times(RUNS, async () => {
      const result = await stopAvg(cluster);
      avg.add(result.avg_ms);
      failed.add(result.failures.length);
    }));
  },

  async 5() {
    for (const [interval, delay] of [[200, 500], [1000, 2000]]) {
      const moved = figure('5', `BFF dies, checks every ${interval} ms: its slot elsewhere`,
        { max: 2 * interval + 150 });
      const back = figure('5', `BFF returns: its slot is back, delay ${delay} ms`,
        { max: 2 * interval + delay + 150, least: delay });
      await withCluster({ n: 3, ...FAST, patch(config) {
        config.groups[0].checks[0].interval_ms = interval;
        config.groups[0].forwarder_preempt_delay_ms = delay;
      } }, (cluster) => times(FEW, async (run) => {
        const result = await loseBff(cluster, cluster.hosts[run % 3]);
        moved.add(result.moved_ms);
        back.add(result.back_ms);
      }));
    }
  },

  async 6() {
    const patch = (config, i) => { config.groups[0].priority = 100 + i; };
    const calm = count('6', 'pause of 0.6 hold: changes of AVG or slot');
    const returned = count('6', 'pause of 1.2 to 10 hold: the old AVG took the role back');
    const one = figure('6', 'pause of 1.2 to 10 hold: one AVG after it goes on', { max: SETTLE_MS });
    const twice = count('6', 'old AVG killed and started again: takeovers after that');
    await withCluster({ n: 3, ...FAST, patch }, async (cluster) => {
      await times(FEW, async () => {
        const result = await pauseAvg(cluster, 0.58 * hold);
        calm.add(result.takeovers.length + result.moves.length);
      });
      await times(FEW, async (run) => {
        const result = await pauseAvg(cluster, [1.25, 2, 3, 5, 10][run % 5] * hold);
        returned.add(Number(result.returned || result.avg === result.old));
        one.add(result.back_ms);
      });
      await times(FEW, async () => twice.add((await restartAvg(cluster)).takeovers.length));
    });
    const preempt = figure('6', 'preempt on, AVG killed and started again: takeovers',
      { unit: 'count', max: 1, least: 1 });
    await withCluster({ n: 3, ...FAST, patch(config, i) {
      patch(config, i);
      config.groups[0].priority = i === 1 ? 110 : 100; // else the lower of the others preempt too
      config.groups[0].preempt = { enabled: true, delay_ms: 300 };
    } }, (cluster) => times(FEW, async () =>
      preempt.add((await restartAvg(cluster)).takeovers.length)));
  },

  async 7() {
    const lengths = options.long ? [5000, 90000] : [5000];
    for (const [kind, { n, what }] of Object.entries(CASES))
      for (const ms of lengths) {
        if (ms > 5000 && kind > 'b') continue;
        const about = `UDP cut for ${ms / 1000} s, ${what}`;
        const moved = count('7', `${about}: slots of serving hosts that moved`);
        const wrong = count('7', `${about}: parts whose pools say majority or suspect wrongly`);
        const heal = figure('7', `${about}: one AVG and equal pools after the heal`,
          { max: HEAL_MS });
        const foreign = count('7', `${about}: AVG after the heal not of the larger part`);
        await withCluster({ n, ...FAST }, (cluster) => times(ms > 5000 ? 1 : FEW, async () => {
          const result = await partition(cluster, kind, ms);
          moved.add(result.moves.length);
          heal.add(result.heal_ms);
          wrong.add(result.parts.filter(({ part, majority, majorityEver, suspect }) => !suspect
            || (part.length > n / 2 ? majorityEver.includes(false) : majority.includes(true)))
            .length);
          const largest = result.parts.find(({ part }) => part.length > n / 2);
          foreign.add(Number(Boolean(largest)
            && !largest.part.map((i) => `bff-${i}`).includes(result.avg)));
        }));
      }
  },

  async 8() {
    const cases = [[3, [[1, 2], [1, 3], [2, 1], [2, 3], [3, 1], [3, 2]].map((cut) => [cut])],
      [4, Array.from({ length: 20 }, (_, k) => randomCuts(4, k + 1))]];
    for (const [n, patterns] of cases) {
      const two = figure('8', `${patterns.length} patterns of one-way cuts among ${n}: two AVGs in `
        + 'one part', { max: SETTLE_MS });
      const load = figure('8', `${patterns.length} patterns of one-way cuts among ${n}: datagrams `
        + 'over hellos due', { unit: 'ratio', max: 3 });
      await withCluster({ n, ...FAST }, async (cluster) => {
        for (const cuts of patterns) {
          const result = await oneWay(cluster, cuts, 2000);
          two.add(result.two_ms);
          load.add(result.load);
        }
      });
    }
  },

  async 9() {
    const ms = options.long ? 600000 : 40000;
    const moved = count('9', `20 % loss for ${ms / 1000} s: slots that moved`);
    const changes = figure('9', `20 % loss for ${ms / 1000} s: changes of AVG`, { unit: 'count',
      max: 1 });
    await withCluster({ n: 3 }, async (cluster) => {
      const result = await loss(cluster, 20, ms);
      moved.add(result.moves.length);
      changes.add(result.takeovers.length);
    });
  },

  async 14() {
    const avg = figure('14', 'crash under load: new AVG', { med: hold, max: 1.1 * hold + 20 });
    const pool = figure('14', 'crash under load: its slot elsewhere, after that', { max: 100 });
    const gap = figure('14', 'max_gap_ms of every live pair', { max: hold - hello });
    const failed = count('14', 'requests that failed or were empty');
    const rate = figure('14', 'requests per second meanwhile', { unit: '1/s' });
    await times(FEW, () => withCluster({ n: 3, ...FAST, patch(config) {
      config.http.limits = { per_address: 4000 };
    } }, async (cluster) => {
      const result = await loadedCrash(cluster);
      avg.add(result.avg_ms);
      pool.add(result.pool_ms - result.avg_ms);
      gap.add(Math.max(...result.gaps.map(({ ms }) => ms)));
      failed.add(result.failed + result.empty);
      rate.add(result.rate);
    }));
  },

  async 15() {
    const fds = figure('15', '500 joins, leaves, kills, reloads: descriptors gained',
      { unit: 'count', max: 3 });
    const rss = figure('15', '500 joins, leaves, kills, reloads: memory gained after the first 100',
      { unit: 'kB', max: 1024 });
    await withCluster({ n: 4, hello: 50, hold: 200 }, async (cluster) => {
      for (const { early, late } of (await churn(cluster, 500)).survivors) {
        fds.add(late.fds - early.fds);
        rss.add(late.rss_kb - early.rss_kb);
      }
    });
  },
};

const wanted = options.rows?.split(',') ?? Object.keys(rows);
for (const row of wanted) {
  if (!rows[row]) {
    console.error(`no row ${row}; there are ${Object.keys(rows).join(', ')}`);
    process.exit(2);
  }
  const begun = figures.length;
  try {
    await rows[row]();
  } catch (error) {
    notes.push(`row ${row} broke off: ${error.message}`);
  }
  console.error(table(figures.slice(begun)));
}
console.log(`${GLBPD}, hello ${hello} ms, hold ${hold} ms (rows 2 and 9: 1000, 3500)\n`);
console.log(table(figures));
for (const note of new Set(notes)) console.log(`\nnote: ${note}`);
process.exit(figures.every(({ ok }) => ok) && notes.every((note) => !note.startsWith('row')) ? 0 : 1);
