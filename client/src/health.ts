import type { Env, Gateway, Pool, PoolGateway } from './types.js'

const SLOW_START_MS = 30_000
const SLOW_START_FROM = 0.1
const DECAY = 0.15
const FAILURES_IN_A_ROW = 5
const CALLS_TO_JUDGE = 10
const DURATIONS = 32
/** Not greater than the time in which each gateway is probed, time-out included. */
const TOGETHER_MS = 9000

/** One url: what the pool says of it, and what this client saw. */
export class Health {
  slots: PoolGateway[] = []
  weight = 0
  latency = NaN
  success = 1
  inFlight = 0
  lastProbe: number | null = null
  /** Found dead by probes. */
  dead = false
  /** Found bad by requests; ignored when too few would remain. */
  ejected = false
  /** Times it was lost without a lasting return; with the failed probes it makes the back-off. */
  losses = 0
  probeFailures = 0
  lastSuccess = -Infinity
  /** The last network error, as long as no success came after it. */
  networkError = -Infinity
  /** Asked not to be used until then (Retry-After). */
  notBefore = -Infinity
  /** When it came back; slow start counts from here. */
  risen = -Infinity
  failures = 0
  /** Came back by a probe, and no request has succeeded since. */
  halfOpen = false
  #calls = 0
  readonly #durations: number[] = []
  #next = 0

  constructor(readonly url: string) {}

  get usable(): boolean {
    return !this.dead && !this.ejected
  }

  slowStart(now: number): number {
    const part = (now - this.risen) / SLOW_START_MS
    return !(part < 1) ? 1 : SLOW_START_FROM + (1 - SLOW_START_FROM) * Math.max(part, 0)
  }

  #measure(ms: number): void {
    if (!Number.isFinite(ms)) return
    const floored = Math.max(ms, 1)
    this.latency = Number.isNaN(this.latency) ? floored : this.latency + DECAY * (floored - this.latency)
  }

  succeed(ms: number, now: number, byRequest: boolean): void {
    this.#measure(ms)
    this.success += DECAY * (1 - this.success)
    this.lastSuccess = now
    this.networkError = -Infinity
    this.failures = this.probeFailures = 0
    if (!byRequest) return
    this.#calls++
    this.halfOpen = false
    this.#durations[this.#next++ % DURATIONS] = ms
  }

  /** @returns whether it is to be ejected for this. */
  fail(now: number, network: boolean, byRequest: boolean): boolean {
    this.success -= DECAY * this.success
    this.failures++
    if (network) this.networkError = now
    if (byRequest) this.#calls++
    else this.probeFailures++
    const bad = this.#calls >= CALLS_TO_JUDGE && this.success < 0.5
    return byRequest && (this.failures >= FAILURES_IN_A_ROW || bad || this.halfOpen)
  }

  lose(how: 'dead' | 'ejected'): void {
    if (this.usable) this.losses++
    this[how] = true
    this.halfOpen = false
  }

  /** Back by a successful probe: slow start, and the next failure counts at once. */
  rise(now: number): void {
    this.dead = this.ejected = false
    this.#calls = 0
    this.success = Math.max(this.success, 0.5)
    this.halfOpen = true
    this.risen = now
  }

  /** What is known is too old to hold against it. */
  forget(): void {
    this.dead = this.ejected = this.halfOpen = false
    this.success = 1
    this.latency = NaN
    this.failures = this.probeFailures = this.losses = this.#calls = 0
    this.networkError = this.notBefore = this.risen = -Infinity
  }

  /** The 95th percentile of its latest requests in ms; NaN without any. */
  p95(): number {
    const sorted = [...this.#durations].sort((a, b) => a - b)
    return sorted[Math.floor(sorted.length * 0.95)] ?? NaN
  }

  view(): Gateway {
    const first = this.slots[0]
    return {
      url: this.url,
      slot: first?.slot ?? 0,
      weight: this.weight,
      alive: this.usable && this.slots.some((slot) => slot.alive),
      latency: Number.isNaN(this.latency) ? null : this.latency,
      successRate: this.success,
      inFlight: this.inFlight,
      state: this.dead ? 'dead' : this.ejected ? 'ejected' : (first?.state ?? 'unknown'),
      lastProbe: this.lastProbe,
    }
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
  readonly #onChange: (health: Health) => void

  constructor(env: Env, onChange: (health: Health) => void) {
    this.#env = env
    this.#onChange = onChange
  }

  /** Who stays keeps what was learnt of it. */
  use(pool: Pool): void {
    const known = new Map(this.list.map((health) => [health.url, health]))
    const next = new Map<string, Health>()
    for (const slot of [...pool.gateways].sort((a, b) => a.slot - b.slot)) {
      let health = next.get(slot.url)
      if (!health) {
        health = known.get(slot.url) ?? new Health(slot.url)
        health.slots = []
        health.weight = 0
        next.set(slot.url, health)
      }
      health.slots.push(slot)
      health.weight += slot.weight
    }
    this.list = [...next.values()]
    this.version++
  }

  succeeded(health: Health, ms: number, byRequest: boolean): void {
    const wasUsable = health.usable
    health.succeed(ms, this.#env.now(), byRequest)
    this.version++
    if (!wasUsable && !byRequest) health.rise(this.#env.now())
    if (health.usable && !wasUsable) this.#onChange(health)
    if (this.cutOff) {
      this.cutOff = false
      this.#onChange(health)
    }
    // It lasted: the next loss begins with short pauses again.
    if (health.slowStart(this.#env.now()) === 1) health.losses = 0
  }

  failed(health: Health, network: boolean, byRequest: boolean): void {
    const lost = health.fail(this.#env.now(), network, byRequest)
    this.version++
    if (this.offline || (network && this.#together())) return
    if (!byRequest && (health.failures > 1 || health.halfOpen)) this.#lose(health, 'dead')
    else if (lost) this.#lose(health, 'ejected')
  }

  /** Nobody is to be blamed for what hits all at once: not ejected, and taken back if it was. */
  #together(): boolean {
    const since = this.#env.now() - TOGETHER_MS
    if (!this.list.every((health) => health.networkError > since)) return this.cutOff
    if (this.cutOff) return true
    this.cutOff = true
    for (const health of this.list) {
      health.dead = health.ejected = false
      this.version++
      this.#onChange(health)
    }
    return true
  }

  #lose(health: Health, how: 'dead' | 'ejected'): void {
    const wasUsable = health.usable
    health.lose(how)
    if (wasUsable) this.#onChange(health)
  }

  forget(): void {
    this.cutOff = false
    for (const health of this.list) health.forget()
    this.version++
  }
}
