import { jitter } from './env.js'
import type { Health, Registry } from './health.js'
import type { Env, GlbpOptions } from './types.js'
import { joinUrl } from './url.js'

const BACK_OFF_MS = 500
const BACK_OFF_MOST_MS = 30_000
/** When nobody is alive, somebody who returns is to be seen soon. */
const DEGRADED_MOST_MS = 3000
const CONFIRM_MS = 500

/** Asks each gateway for its health, at most one question to each at a time. */
export class Prober {
  readonly #registry: Registry
  readonly #env: Env
  readonly #onProbe: (health: Health) => void
  readonly #path: string
  readonly #interval: number
  readonly #timeout: number
  readonly #expect: ReadonlySet<number>
  readonly #methods = new WeakMap<Health, string>()
  readonly #method: string
  readonly #timers = new Map<Health, () => void>()
  readonly #busy = new Map<Health, AbortController>()
  readonly #told = new Set<string>()
  #running = false

  constructor(
    registry: Registry, env: Env, onProbe: (health: Health) => void, options: NonNullable<GlbpOptions['probe']> = {},
  ) {
    this.#registry = registry
    this.#env = env
    this.#onProbe = onProbe
    this.#path = options.path ?? '/health'
    this.#interval = Math.max(options.intervalMs ?? 5000, 100)
    this.#timeout = options.timeoutMs ?? 2000
    this.#expect = new Set(options.expect ?? [200])
    this.#method = options.method ?? 'HEAD'
  }

  start(): void {
    this.#running = true
    this.all()
  }

  /** No timer and no question remains. */
  stop(): void {
    this.#running = false
    for (const cancel of this.#timers.values()) cancel()
    for (const abort of this.#busy.values()) abort.abort()
    this.#timers.clear()
    this.#busy.clear()
  }

  /** Asks everybody now. */
  all(): void {
    for (const health of this.#registry.list) this.probe(health)
  }

  /** The pool has changed: new gateways are asked at once, lost ones no more. */
  sync(): void {
    for (const [health, cancel] of this.#timers) {
      if (this.#registry.list.includes(health)) continue
      cancel()
      this.#timers.delete(health)
    }
    for (const [health, abort] of this.#busy) {
      if (this.#registry.list.includes(health)) continue
      abort.abort()
      this.#busy.delete(health)
    }
    // The agents may know that somebody is back before the next probe is due.
    for (const health of this.#registry.list) if (!health.usable || !this.#timers.has(health)) this.probe(health)
  }

  /** Asks one now, unless that is being done. */
  probe(health: Health): void {
    if (!this.#running || this.#busy.has(health) || !this.#registry.list.includes(health)) return
    this.#timers.get(health)?.()
    this.#timers.delete(health)
    const abort = new AbortController()
    this.#busy.set(health, abort)
    void this.#ask(health, abort).then(() => {
      if (this.#busy.get(health) !== abort) return
      this.#busy.delete(health)
      this.#plan(health)
    })
  }

  #plan(health: Health): void {
    if (!this.#running || !this.#registry.list.includes(health)) return
    const cancel = this.#env.after(this.#pause(health), () => {
      // A request has just shown what a probe would show.
      const lately = this.#env.now() - health.lastSuccess < this.#interval * 0.8
      if (lately && health.usable && !health.failures) this.#plan(health)
      else this.probe(health)
    })
    this.#timers.set(health, cancel)
  }

  #pause(health: Health): number {
    if (health.usable && !health.probeFailures) return jitter(this.#env, this.#interval, 0.2)
    if (health.usable && !this.#registry.cutOff) return jitter(this.#env, CONFIRM_MS, 0.2)
    const most = this.#registry.list.some((other) => other.usable && other.networkError < 0)
      ? BACK_OFF_MOST_MS
      : DEGRADED_MOST_MS
    const back = BACK_OFF_MS * 2 ** Math.min(health.probeFailures + health.losses, 10)
    return jitter(this.#env, Math.min(back, most), 0.2)
  }

  async #ask(health: Health, abort: AbortController): Promise<void> {
    const { now, wall } = this.#env
    const startedAt = now()
    let late = false
    const cancel = this.#env.after(this.#timeout, () => {
      late = true
      abort.abort()
    })
    try {
      const status = await this.#status(health, abort.signal)
      if (!this.#current(health, abort)) return
      if (this.#expect.has(status)) this.#registry.succeeded(health, now() - startedAt, false)
      else {
        this.#registry.failed(health, false, false)
        if (status < 500) this.#hint(`${health.url}${this.#path} answered ${status}: see the option probe.path`)
      }
    } catch {
      if (this.#current(health, abort)) this.#registry.failed(health, !late, false)
    } finally {
      cancel()
    }
    if (!this.#current(health, abort)) return
    health.lastProbe = wall()
    this.#onProbe(health)
  }

  /** A probe of a gateway that left the pool meanwhile, or of a stopped client, counts no more. */
  #current(health: Health, abort: AbortController): boolean {
    return this.#busy.get(health) === abort
  }

  async #status(health: Health, signal: AbortSignal): Promise<number> {
    const url = joinUrl(health.url, this.#path)
    const method = this.#methods.get(health) ?? this.#method
    // No header of its own: that would cost a preflight each time.
    const init: RequestInit = { method, signal, cache: 'no-store', credentials: 'omit' }
    const answer = await this.#env.fetch(url, init)
    void answer.body?.cancel().catch(() => undefined)
    if (method === 'GET' || (answer.status !== 405 && answer.status !== 501)) return answer.status
    this.#methods.set(health, 'GET')
    return this.#status(health, signal)
  }

  #hint(text: string): void {
    if (this.#told.has(text)) return
    this.#told.add(text)
    this.#env.warn(text)
  }
}
