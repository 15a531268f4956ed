import type { Core } from './glbp.js'
import { slowStart, unknown, view, type Health } from './health.js'
import { jitter, within } from './time.js'
import { joinUrl } from './url.js'

const BACK_OFF_MS = 500
const BACK_OFF_MOST_MS = 30_000
/** When nobody is alive, somebody who returns is to be seen soon. */
const DEGRADED_MOST_MS = 3000
const CONFIRM_MS = 500

/** What a probe has found. */
export interface Result {
  ok: boolean
  ms: number
  /** It failed by a network error, not by a status or by time. */
  network: boolean
}

export interface ProberEvents {
  /** How many times slower than alone this tab probes. */
  pace(): number
  /** For people: what was left out, or is wrong; told once. */
  tell(text: string): void
  /** A probe has ended, and counts. */
  ended(health: Health, result: Result): void
  /** A gateway that never answered had a network error. */
  unreadable(url: string): void
}

/** What the prober knows of one gateway. */
interface Watch {
  method: string
  cancel?: (() => void) | undefined
  abort?: AbortController | undefined
  /** Failures in a row. */
  failures: number
  /** Times it came back without staying; with the failures they make the back-off. */
  returns: number
  /** When the last result was taken, of this tab or another. */
  at: number
}

/** Asks each gateway for its health, at most one question to each at a time. */
export class Prober {
  readonly #core: Core
  readonly #on: ProberEvents
  readonly #path: string
  readonly #interval: number
  readonly #timeout: number
  readonly #expect: readonly number[]
  readonly #method: string
  readonly #watches = new Map<Health, Watch>()
  #running = false

  constructor(core: Core, on: ProberEvents) {
    this.#core = core
    this.#on = on
    const { path = '/health', intervalMs = 5000, timeoutMs = 2000, expect = [200], method = 'HEAD' } =
      core.options.probe ?? {}
    this.#path = path
    this.#interval = intervalMs
    this.#timeout = timeoutMs
    this.#expect = expect
    this.#method = method
  }

  /** Asks everybody now. */
  start(): void {
    this.#running = true
    for (const health of this.#core.registry.list) this.probe(health)
  }

  /** No timer and no question remains. */
  stop(): void {
    this.#running = false
    for (const watch of this.#watches.values()) rest(watch)
  }

  /** The pool has changed: new gateways are asked at once, lost ones no more. */
  sync(): void {
    const { list } = this.#core.registry
    for (const [health, watch] of this.#watches) {
      if (list.includes(health)) continue
      rest(watch)
      this.#watches.delete(health)
    }
    // The agents may know that somebody is back before the next probe is due.
    for (const health of list) if (health.lost || !this.#watches.has(health)) this.probe(health)
  }

  /** The next probes are an interval from now. */
  plan(): void {
    for (const [health, watch] of this.#watches) {
      if (watch.abort) continue
      watch.cancel?.()
      this.#plan(health, watch)
    }
  }

  /** What is known is too old to hold against anybody. */
  forget(): void {
    const { registry } = this.#core
    registry.cutOff = false
    for (const health of registry.list) {
      Object.assign(health, unknown())
      Object.assign(this.#watch(health), { failures: 0, returns: 0 })
    }
    registry.version++
  }

  /** Asks one now, unless that is being done. */
  probe(health: Health): void {
    if (!this.#running || !this.#core.registry.list.includes(health)) return
    const watch = this.#watch(health)
    if (watch.abort) return
    rest(watch)
    const abort = (watch.abort = new AbortController())
    void this.#ask(health, watch, abort.signal).then((result) => {
      // That of a gateway which left the pool meanwhile, or of a stopped client, counts no more.
      if (watch.abort !== abort) return
      watch.abort = undefined
      const unreadable = result.network && !health.latency
      this.#take(health, watch, result)
      this.#on.ended(health, result)
      if (unreadable) this.#on.unreadable(joinUrl(health.url, this.#path))
    })
  }

  /** Another tab has probed: this one need not, for as long. */
  hear(told: unknown): void {
    const { url, ok, ms, network } = Object(told) as Partial<Result> & { url?: string }
    const health = this.#core.registry.list.find((one) => one.url === url)
    if (!this.#running || !health || typeof ms !== 'number' || !(ms >= 0 && ms < 60_000)) return
    const watch = this.#watch(health)
    // Answers to questions asked at one time are one answer.
    if (watch.abort || this.#core.env.now() - watch.at < CONFIRM_MS / 2) return
    rest(watch)
    this.#take(health, watch, { ok: ok === true, ms, network: network === true })
    this.#core.emit('probe', view(health))
  }

  #watch(health: Health): Watch {
    const watch = this.#watches.get(health) ?? { method: this.#method, failures: 0, returns: 0, at: -Infinity }
    this.#watches.set(health, watch)
    return watch
  }

  #take(health: Health, watch: Watch, { ok, ms, network }: Result): void {
    const { env, registry } = this.#core
    const now = env.now()
    watch.at = now
    health.lastProbe = env.wall()
    if (!ok) {
      watch.failures++
      registry.failed(health, network, false)
    } else {
      watch.failures = 0
      registry.succeeded(health, ms, false)
      if (health.lost) {
        // Slow start, and the next failure counts at once.
        const success = Math.max(health.success, 0.5)
        Object.assign(health, { lost: '', calls: 0, success, halfOpen: true, risen: now })
        watch.returns++
        registry.version++
        registry.onChange(health)
      } else if (slowStart(health, now) === 1) {
        // It lasted: the next loss begins with short pauses again.
        watch.returns = 0
      }
    }
    this.#plan(health, watch)
  }

  #plan(health: Health, watch: Watch): void {
    if (!this.#running) return
    watch.cancel = this.#core.env.after(this.#pause(health, watch), () => {
      // A request has just shown what a probe would show.
      const lately = this.#core.env.now() - health.lastSuccess < this.#interval * 0.8
      if (lately && !health.lost && !health.failures) this.#plan(health, watch)
      else this.probe(health)
    })
  }

  #pause(health: Health, { failures, returns }: Watch): number {
    const { env, registry } = this.#core
    let ms = this.#interval
    if (health.lost || (failures && registry.cutOff)) {
      const some = registry.list.some((other) => !other.lost && other.networkError < 0)
      ms = Math.min(BACK_OFF_MS * 2 ** Math.min(failures + returns, 10), some ? BACK_OFF_MOST_MS : DEGRADED_MOST_MS)
    } else if (failures) ms = CONFIRM_MS
    return jitter(env, ms * this.#on.pace(), 0.2)
  }

  async #ask(health: Health, watch: Watch, stop: AbortSignal): Promise<Result> {
    const { env } = this.#core
    const startedAt = env.now()
    const result = { ok: false, network: false }
    try {
      const status = await within(env, this.#timeout, (signal) => this.#status(health, watch, signal), stop)
      result.ok = this.#expect.includes(status)
      if (!result.ok && status < 500) this.#on.tell(`${health.url}${this.#path} answered ${status}: see the option probe.path`)
    } catch (error) {
      result.network = (error as Error).name !== 'AbortError'
    }
    return { ...result, ms: env.now() - startedAt }
  }

  async #status(health: Health, watch: Watch, signal: AbortSignal): Promise<number> {
    const { method } = watch
    // No header of its own: that would cost a preflight each time.
    const init: RequestInit = { method, signal, cache: 'no-store', credentials: 'omit' }
    const { status, body } = await this.#core.env.fetch(joinUrl(health.url, this.#path), init)
    void body?.cancel().catch(() => undefined)
    if (method === 'GET' || (status !== 405 && status !== 501)) return status
    watch.method = 'GET'
    return this.#status(health, watch, signal)
  }
}

/** Neither asks nor waits. */
function rest(watch: Watch): void {
  watch.cancel?.()
  watch.abort?.abort()
  watch.cancel = watch.abort = undefined
}
