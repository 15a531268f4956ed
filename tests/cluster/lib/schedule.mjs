// What chaos does, and when: all of it follows from the seed, before anything runs.
//
// A round: { storm_ms, quiet_ms, faults: [{ at_ms, ms, kind, who, x }] }
//   quiet_ms  how long everything must stay as it is, once it has settled
//   who   0 the AVG of that moment, 1 its standby, 2… the others by name
//   x     0 ≤ x < 1, for whatever the kind still has to choose
import { random } from '../rows/partition.mjs';

/** kind -> how often, and for how long at most (ms; 0: it takes no time). */
export const KINDS = {
  kill: { share: 3, ms: 8000 },
  power: { share: 3, ms: 8000 },
  term: { share: 2, ms: 6000 },
  restart: { share: 2, ms: 0 },
  wipe: { share: 1, ms: 5000 },
  stop: { share: 3, ms: 7500 },
  cut: { share: 3, ms: 10000 },
  oneway: { share: 2, ms: 10000 },
  isolate: { share: 2, ms: 8000 },
  loss: { share: 2, ms: 10000 },
  bff_kill: { share: 2, ms: 8000 },
  bff_stop: { share: 1, ms: 8000 },
  bff_slow: { share: 1, ms: 8000 },
  bff_503: { share: 2, ms: 8000 },
  drain: { share: 2, ms: 6000 },
  weight: { share: 1, ms: 5000 },
  resign: { share: 1, ms: 0 },
  reload: { share: 2, ms: 0 },
  rotate: { share: 2, ms: 4000 },
};

const SHORTEST_MS = 300;
const TOTAL = Object.values(KINDS).reduce((sum, { share }) => sum + share, 0);

function chooseKind(next) {
  let at = next() * TOTAL;
  return Object.keys(KINDS).find((kind) => (at -= KINDS[kind].share) < 0);
}

function fault(next, nodes, storm_ms) {
  const kind = chooseKind(next);
  const longest = KINDS[kind].ms;
  return {
    at_ms: Math.round(next() * storm_ms / 2),
    // Squared: most are short, where the races are.
    ms: longest && Math.round(SHORTEST_MS + next() ** 2 * (longest - SHORTEST_MS)),
    kind,
    who: Math.floor(next() * nodes),
    x: next(),
  };
}

/** A cut that stays, and nothing else: long enough for each part to be judged. */
function standing(next, nodes, judged_ms) {
  const kind = next() < 0.5 ? 'cut' : 'oneway';
  const ms = judged_ms + 500;
  return [{ at_ms: 0, ms, kind, who: Math.floor(next() * nodes), x: next() }];
}

/** Rounds for ever: one to four faults that begin within a storm; at its end all of them end.
 *  judged_ms: so long after its begin a cut that is alone is judged. */
export function* schedule(seed, nodes, judged_ms) {
  const next = random(seed);
  for (;;) {
    const quiet_ms = Math.round(1000 + next() * 2000);
    if (next() < 1 / 6) {
      yield { storm_ms: judged_ms + 1000, quiet_ms, faults: standing(next, nodes, judged_ms) };
      continue;
    }
    const storm_ms = Math.round(1000 + next() * 7000);
    const count = 1 + Math.floor(next() * 4);
    const faults = Array.from({ length: count }, () => fault(next, nodes, storm_ms));
    faults.sort((a, b) => a.at_ms - b.at_ms);
    yield { storm_ms, quiet_ms, faults };
  }
}
