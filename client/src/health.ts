import type { Env, Gateway, Pool, PoolGateway } from './types.js'

const SLOW_START_MS = 30_000
const SLOW_START_FROM = 0.1
const DECAY = 0.15
const FAILURES_IN_A_ROW = 5
const CALLS_TO_JUDGE = 10
const DURATIONS = 32
/** Not greater than the time in which each gateway is probed, time-out included. */
const TOGETHER_MS = 9000

/** Of a gateway of which nothing is known. */
export const unknown = () => ({
  latency: NaN,
  success: 1,
  /** In a row. */
  failures: 0,
  /** Requests since it last came back. */
  calls: 0,
  /** Found `dead` by probes; `ejected` by requests, which is ignored when too few would remain. */
  lost: '' as '' | 'ejected' | 'dead',
  /** Came back by a probe, and no request has succeeded since. */
  halfOpen: false,
  /** When it came back; slow start counts from here. */
  risen: -Infinity,
  /** The last network error, as long as no success came after it. */
  networkError: -Infinity,
  /** Asked not to be used until then (Retry-After). */
  notBefore: -Infinity,
})

const fresh = (url: string) => ({
  ...unknown(),
  url,
  /** At least one, but for a moment within `use`. */
  slots: [] as PoolGateway[],
  weight: 0,
  /** What its latency, its successes and its time of slow start make it worth; see `createChoice`. */
  merit: 0,
  inFlight: 0,
  lastProbe: null as number | null,
  lastSuccess: -Infinity,
  /** The latest requests, in ms. */
  durations: [] as number[],
})

/** One url: what the pool says of it, and what this client saw. */
export type Health = ReturnType<typeof fresh>

/** Part of its share that a gateway is given that has just come back. */
export function slowStart({ risen }: Health, now: number): number {
  return Math.min(1, SLOW_START_FROM + ((1 - SLOW_START_FROM) * Math.max(now - risen, 0)) / SLOW_START_MS) || 1
}

/** The 95th percentile of its latest requests in ms; 0 without any. */
export function p95({ durations }: Health): number {
  return [...durations].sort((a, b) => a - b)[Math.floor(durations.length * 0.95)] ?? 0
}

export function view(health: Health): Gateway {
  const { url, slots, weight, lost, latency, success, inFlight, lastProbe } = health
  return {
    url,
    slot: slots[0]!.slot,
    weight,
    alive: !lost && slots.some((slot) => slot.alive),
    latency: latency || null,
    successRate: success,
    inFlight,
    state: lost || slots[0]!.state,
    lastProbe,
  }
}

/** The gateways of the pool in use, by url. */
export class Registry {
  list: Health[] = []
  /** Grows with each change that a choice depends on, in-flight counts and slow start aside. */
  version = 0
  /** All failed together by network errors: it is the way there, or all of them. */
  cutOff = false
  /** The browser itself says that there is no network: nobody is to be blamed. */
  offline = false
  readonly #env: Env
  /** A gateway was lost, or is back. */
  readonly onChange: (health: Health) => void

  constructor(env: Env, onChange: (health: Health) => void) {
    this.#env = env
    this.onChange = onChange
  }

  /** Who stays keeps what was learnt of it. */
  use(pool: Pool): void {
    const next = new Map<string, Health>()
    for (const slot of [...pool.gateways].sort((a, b) => a.slot - b.slot)) {
      let health = next.get(slot.url)
      if (!health) {
        health = this.list.find(({ url }) => url === slot.url) ?? fresh(slot.url)
        next.set(slot.url, Object.assign(health, { slots: [], weight: 0 }))
      }
      health.slots.push(slot)
      health.weight += slot.weight
    }
    this.list = [...next.values()]
    this.version++
  }

  succeeded(health: Health, ms: number, byRequest: boolean): void {
    const floored = Math.max(ms, 1)
    health.latency += DECAY * (floored - health.latency)
    health.latency ||= floored
    health.success += DECAY * (1 - health.success)
    health.lastSuccess = this.#env.now()
    health.networkError = -Infinity
    health.failures = 0
    this.version++
    if (byRequest) {
      health.calls++
      health.halfOpen = false
      if (health.durations.push(ms) > DURATIONS) health.durations.shift()
    }
    if (!this.cutOff) return
    this.cutOff = false
    this.onChange(health)
  }

  failed(health: Health, network: boolean, byRequest: boolean): void {
    const { halfOpen } = health
    health.success -= DECAY * health.success
    health.failures++
    if (network) health.networkError = this.#env.now()
    if (byRequest) health.calls++
    this.version++
    // Who has left the pool is no news.
    if (this.offline || !this.list.includes(health) || (network && this.#together())) return
    const bad = byRequest
      ? health.failures >= FAILURES_IN_A_ROW || (health.calls >= CALLS_TO_JUDGE && health.success < 0.5)
      : health.failures > 1
    if ((!bad && !halfOpen) || health.lost === 'dead') return
    const before = health.lost
    health.lost = byRequest ? 'ejected' : 'dead'
    health.halfOpen = false
    if (!before) this.onChange(health)
  }

  /** Nobody is to be blamed for what hits all at once: not ejected, and taken back if it was. */
  #together(): boolean {
    const since = this.#env.now() - TOGETHER_MS
    if (!this.cutOff && this.list.every(({ networkError }) => networkError > since)) {
      this.cutOff = true
      for (const health of this.list) {
        health.lost = ''
        this.onChange(health)
      }
    }
    return this.cutOff
  }
}
