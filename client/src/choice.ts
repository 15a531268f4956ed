import type { Health, Registry } from './health.js'
import type { Env, Explanation, LoadBalancing } from './types.js'

const HELD_MAX = 1000
const clamp = (value: number, low: number, high: number) => Math.min(Math.max(value, low), high)
const sane = (factor: number) => (Number.isFinite(factor) ? factor : 1)

/** What a choice needs and what only changes with the registry's version. */
interface Prepared {
  version: number
  until: number
  candidates: Health[]
  /** Weight, latency and success of each candidate, as one factor. */
  bases: Float64Array
  floors: Float64Array
  scores: Float64Array
  rising: boolean
}

/** Decides which gateway a request goes to. */
export class Choice {
  readonly #registry: Registry
  readonly #env: Env
  readonly #method: () => LoadBalancing
  /** Slots held by keys, the latest used last. */
  readonly #held = new Map<string, number>()
  #prepared: Prepared | undefined
  #credit = new Map<string, number>()

  constructor(registry: Registry, env: Env, method: () => LoadBalancing) {
    this.#registry = registry
    this.#env = env
    this.#method = method
  }

  /**
   * @param key for `host-dependent`: the same key gets the same slot.
   * @param tried urls that this request has used already.
   * @returns undefined only when there is no gateway that was not tried.
   */
  pick(key: string, tried?: ReadonlySet<string>): Health | undefined {
    const method = this.#method()
    if (tried?.size) {
      const others = this.#registry.list.filter((health) => !tried.has(health.url))
      // Beside a failure, those that fail too are the last resort, however few the others are.
      const now = this.#env.now()
      const sound = others.filter((health) => health.usable && health.weight > 0 && health.notBefore <= now)
      return this.#weighted(this.#prepare(sound.length ? sound : others))
    }
    if (method === 'host-dependent') return this.#hostDependent(key)
    const prepared = this.#current()
    if (method === 'round-robin') return this.#roundRobin(prepared)
    if (method === 'best') return this.#best(prepared)
    if (method === 'two-choices') return this.#twoChoices(prepared)
    return this.#weighted(prepared)
  }

  /** Who would be the best now, without taking a turn. */
  best(): Health | undefined {
    return this.#best(this.#current())
  }

  explain(): Explanation[] {
    const prepared = this.#current()
    const total = this.#score(prepared)
    const middle = median(prepared.candidates)
    return this.#registry.list.map((health) => {
      const index = prepared.candidates.indexOf(health)
      return {
        ...health.view(),
        eligible: index >= 0,
        share: index < 0 || total === 0 ? 0 : prepared.scores[index]! / total,
        latencyFactor: latencyFactor(health, middle),
        slowStart: health.slowStart(this.#env.now()),
      }
    })
  }

  #current(): Prepared {
    const now = this.#prepared
    if (now && now.version === this.#registry.version && now.until > this.#env.now()) return now
    return (this.#prepared = this.#prepare(this.#eligible()))
  }

  /** Fewer than half usable: what requests have seen is not believed; none alive: everybody. */
  #eligible(): Health[] {
    const weighty = this.#registry.list.filter((health) => health.weight > 0)
    const now = this.#env.now()
    const alive = weighty.filter((health) => !health.dead)
    const usable = alive.filter((health) => !health.ejected)
    const ready = usable.filter((health) => health.notBefore <= now)
    if (ready.length && ready.length * 2 >= weighty.length) return ready
    if (usable.length * 2 >= weighty.length && usable.length) return usable
    if (alive.length) return alive
    return weighty.length ? weighty : this.#registry.list
  }

  #prepare(candidates: Health[]): Prepared {
    const now = this.#env.now()
    const middle = median(candidates)
    const count = candidates.length
    const bases = new Float64Array(count)
    const floors = new Float64Array(count)
    candidates.forEach((health, k) => {
      // All of weight 0 are candidates only when there is nobody else.
      const share = (health.weight || 1) / 100
      floors[k] = 0.05 * share
      bases[k] = 0.95 * share * latencyFactor(health, middle) * sane(Math.max(health.success, 0.05))
    })
    return {
      version: this.#registry.version,
      until: this.#registry.list.reduce((soonest, { notBefore }) =>
        notBefore > now && notBefore < soonest ? notBefore : soonest, Infinity),
      candidates,
      bases,
      floors,
      scores: new Float64Array(count),
      rising: candidates.some((health) => health.slowStart(now) < 1),
    }
  }

  /** Fills the scores; @returns their sum. */
  #score({ candidates, bases, floors, scores, rising }: Prepared): number {
    const now = rising ? this.#env.now() : 0
    let total = 0
    for (let k = 0; k < candidates.length; k++) {
      const health = candidates[k]!
      const slow = rising ? health.slowStart(now) : 1
      total += scores[k] = (bases[k]! * slow) / (health.inFlight + 1) + floors[k]!
    }
    return total
  }

  #weighted(prepared: Prepared): Health | undefined {
    const { candidates, scores } = prepared
    let left = this.#env.random() * this.#score(prepared)
    for (let k = 0; k < candidates.length; k++) {
      left -= scores[k]!
      if (left < 0) return candidates[k]
    }
    return candidates.at(-1)
  }

  #best(prepared: Prepared): Health | undefined {
    this.#score(prepared)
    const { candidates, scores } = prepared
    return candidates[scores.indexOf(Math.max(...scores))]
  }

  #twoChoices(prepared: Prepared): Health | undefined {
    this.#score(prepared)
    const { candidates, scores } = prepared
    const count = candidates.length
    const one = Math.floor(this.#env.random() * count)
    const other = (one + 1 + Math.floor(this.#env.random() * (count - 1))) % count
    return candidates[scores[one]! >= scores[other]! ? one : other]
  }

  /** Smooth weighted round-robin: 5:1 is not five in a row. */
  #roundRobin({ candidates }: Prepared): Health | undefined {
    let total = 0
    let next: Health | undefined
    const credit = new Map<string, number>()
    for (const health of candidates) {
      const weight = health.weight || 1
      total += weight
      credit.set(health.url, (this.#credit.get(health.url) ?? 0) + weight)
      if (!next || credit.get(health.url)! > credit.get(next.url)!) next = health
    }
    if (next) credit.set(next.url, credit.get(next.url)! - total)
    this.#credit = credit
    return next
  }

  /** Weighted rendezvous over slots: a key keeps its slot, whoever forwards it, as long as there is one. */
  #hostDependent(key: string): Health | undefined {
    const { candidates } = this.#current()
    const held = this.#held.get(key)
    let best: { slot: number; health: Health; order: number } | undefined
    let holder: Health | undefined
    for (const health of this.#registry.list) {
      for (const { slot, weight } of health.slots) {
        if (slot === held) holder = health
        const share = weight || (health.weight ? 0 : 1)
        if (!share || !candidates.includes(health)) continue
        const order = -Math.log(hash(`${key} ${slot}`)) / share
        if (!best || order < best.order) best = { slot, health, order }
      }
    }
    // A detour while the holder is out of reach does not give its slot away.
    if (holder) return holder.usable ? holder : best?.health
    if (best) {
      this.#held.set(key, best.slot)
      if (this.#held.size > HELD_MAX) this.#held.delete(this.#held.keys().next().value!)
    }
    return best?.health
  }
}

function median(list: readonly Health[]): number {
  const known = list.map((health) => health.latency).filter(Number.isFinite).sort((a, b) => a - b)
  const half = known.length >> 1
  return known.length % 2 ? known[half]! : (known[half - 1]! + known[half]!) / 2
}

const latencyFactor = (health: Health, middle: number): number =>
  sane(clamp(middle / health.latency, 0.25, 4))

/** FNV-1a with a finish that spreads the last character too, in (0, 1). */
function hash(text: string): number {
  let h = 0x811c9dc5
  for (let k = 0; k < text.length; k++) h = Math.imul(h ^ text.charCodeAt(k), 0x01000193)
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return (((h ^ (h >>> 16)) >>> 0) + 0.5) / 2 ** 32
}
