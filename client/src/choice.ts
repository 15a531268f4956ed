import { slowStart, view, type Health, type Registry } from './health.js'
import type { Env, Explanation } from './types.js'

/** Draws one of `candidates`, of which there is at least one. */
export type Method = (candidates: readonly Health[], scores: readonly number[], key: string) => Health | undefined

/** Pauses that gateways asked for end, and slow start goes on, to the next tenth of a second. */
const PAUSE_STEP_MS = 100
const EJECTED = 2
const DEAD = 3

/** How far a gateway is from being picked: ready, asked for a pause, ejected, dead. */
const distance = ({ lost, notBefore }: Health, now: number): number =>
  lost === 'dead' ? DEAD : lost ? EJECTED : Number(notBefore > now)

/** Decides which gateway a request goes to. */
export interface Choice {
  /**
   * @param key for `host-dependent`: the same key gets the same slot.
   * @param tried urls that this request has used already.
   * @returns undefined only when there is no gateway that was not tried.
   */
  pick(key: string, tried?: ReadonlySet<string>): Health | undefined
  /** Who would be the best now, without taking a turn. */
  best(): Health | undefined
  explain(): Explanation[]
}

/** @param method undefined: weighted. */
export function createChoice(registry: Registry, env: Env, method: () => Method | undefined): Choice {
  // Candidates and merits hold for a version of the registry, and until a pause may have ended.
  let candidates: readonly Health[] = []
  let version = -1
  let until = 0
  let now = 0
  let middle = NaN
  /** Of those that were weighed last. */
  const scores: number[] = []

  function current(): readonly Health[] {
    const { list } = registry
    now = env.now()
    if (version !== registry.version || now >= until) {
      version = registry.version
      until = now + PAUSE_STEP_MS
      middle = median(list.map(({ latency }) => latency).filter(Number.isFinite))
      candidates = eligible(list, now)
      for (const health of list)
        health.merit = latencyFactor(health) * (Math.max(health.success, 0.05) || 1) * slowStart(health, now)
    }
    return candidates
  }

  /** How much faster than the median, ¼ to 4; 1 where that is not known. */
  const latencyFactor = ({ latency }: Health): number => Math.min(Math.max(middle / latency, 0.25), 4) || 1

  /** Fills the scores; @returns their sum. */
  function weigh(list: readonly Health[]): number {
    let total = 0
    scores.length = list.length
    for (let k = 0; k < list.length; k++) {
      const health = list[k]!
      // All of weight 0 are candidates only when there is nobody else.
      total += scores[k] = (health.weight || 1) * (0.05 + (0.95 * health.merit) / (health.inFlight + 1))
    }
    return total
  }

  return {
    pick(key, tried) {
      const another = tried?.size
      const all = current()
      // Beside a failure, those that fail too are the last resort, however few the others are.
      const from = another ? eligible(registry.list.filter(({ url }) => !tried.has(url)), now, 0) : all
      let left = weigh(from) * env.random()
      const special = another ? undefined : method()
      if (special) return special(from, scores, key)
      for (let k = 0; k < scores.length; k++) if ((left -= scores[k]!) < 0) return from[k]
      return from.at(-1)
    },
    best() {
      weigh(current())
      return candidates[scores.indexOf(Math.max(...scores))]
    },
    explain() {
      const total = weigh(current())
      return registry.list.map((health) => {
        const index = candidates.indexOf(health)
        return {
          ...view(health),
          eligible: index >= 0,
          share: (scores[index] ?? 0) / total,
          latencyFactor: latencyFactor(health),
          slowStart: slowStart(health, now),
        }
      })
    },
  }
}

/**
 * Those that are ready, then those that asked for a pause, if that is enough of them; else what requests have seen is
 * not believed; then the dead, then whoever is of weight 0.
 */
function eligible(list: readonly Health[], now: number, enough = 1 / 2): readonly Health[] {
  const weighty = list.filter(({ weight }) => weight)
  for (let most = 0; most <= DEAD; most++) {
    const found = weighty.filter((health) => distance(health, now) <= most)
    if (found.length && (most >= EJECTED || found.length >= weighty.length * enough)) return found
  }
  return list
}

function median(list: number[]): number {
  const half = list.sort((a, b) => a - b).length >> 1
  return list.length % 2 ? list[half]! : (list[half - 1]! + list[half]!) / 2
}
