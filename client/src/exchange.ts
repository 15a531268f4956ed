import type { Budget } from './budget.js'
import type { Choice } from './choice.js'
import { GlbpError } from './error.js'
import type { Health, Registry } from './health.js'
import type { Plan } from './request.js'
import type { Attempt, Env, GlbpEvents } from './types.js'
import { bareUrl, joinUrl } from './url.js'

const JITTER_MS = 100
const HEDGE_LEAST_MS = 1000
const HEDGE_MOST_MS = 2000
const RETRY_AFTER_MOST_MS = 60_000
const FAILED = new Set([502, 503, 504])

export interface Exchanger {
  env: Env
  registry: Registry
  choice: Choice
  budget: Budget
  tries: number
  tryTimeout: number
  timeout: number
  /** The key of requests that bring none. */
  clientId(): string
  /** Something is wrong with a gateway: look at it now. */
  suspect(health: Health): void
  failover(event: GlbpEvents['failover']): void
}

interface Try {
  health: Health
  abort: AbortController
  startedAt: number
  attempt: Attempt
  cancel(): void
}

/** One request with all its tries, until the first good answer. */
export class Exchange {
  readonly #x: Exchanger
  readonly #plan: Plan
  readonly #tried = new Set<string>()
  readonly #attempts: Attempt[] = []
  readonly #running = new Set<Try>()
  #last: Response | undefined
  #cancelHedge: (() => void) | undefined
  #cancelWait: (() => void) | undefined
  #cancelAll!: () => void
  #over = false
  #resolve!: (response: Response) => void
  #reject!: (reason: unknown) => void

  constructor(exchanger: Exchanger, plan: Plan) {
    this.#x = exchanger
    this.#plan = plan
  }

  run(): Promise<Response> {
    const { env, budget, timeout } = this.#x
    const signal = this.#plan.signal
    if (signal?.aborted) return Promise.reject(signal.reason)
    budget.earn()
    return new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
      const onAbort = () => this.#end(() => reject(signal!.reason))
      const cancel = env.after(timeout, () => {
        for (const one of [...this.#running]) this.#note(one, { error: 'no answer' }, true)
        this.#fail(`no gateway answered within ${timeout} ms`)
      })
      this.#cancelAll = () => {
        cancel()
        signal?.removeEventListener('abort', onAbort)
      }
      signal?.addEventListener('abort', onAbort)
      this.#launch()
    })
  }

  #launch(): void {
    const { choice, env, tryTimeout } = this.#x
    const key = this.#plan.key ?? this.#x.clientId()
    // When each was tried once, any may be tried again.
    const health = choice.pick(key, this.#tried) ?? choice.pick(key)
    if (!health) return this.#fail('there is no gateway')
    const from = this.#attempts.at(-1)
    if (from) this.#x.failover({ from: from.url, to: health.url, reason: String(from.status ?? from.error ?? 'slow') })
    this.#tried.add(health.url)
    const url = joinUrl(health.url, this.#plan.path)
    const attempt: Attempt = { url: bareUrl(url), ms: 0 }
    this.#attempts.push(attempt)
    const abort = new AbortController()
    const one: Try = { health, abort, attempt, startedAt: env.now(), cancel: () => undefined }
    one.cancel = env.after(tryTimeout, () => {
      this.#note(one, { error: 'time-out' }, true)
      abort.abort()
      this.#goOn()
    })
    this.#running.add(one)
    health.inFlight++
    this.#armHedge(health)
    const signal = this.#plan.signal
    const both = signal ? join(signal, abort) : abort.signal
    env.fetch(url, { ...this.#plan.init, signal: both }).then(
      (response) => this.#answered(one, response),
      (error: unknown) => {
        if (!this.#running.has(one)) return
        this.#note(one, { error: error instanceof Error ? error.message : String(error) }, true)
        this.#goOn()
      },
    )
  }

  /** When there is no answer for long, another gateway is asked as well. */
  #armHedge(health: Health): void {
    this.#cancelHedge?.()
    if (!this.#plan.beside) return
    const usual = 3 * health.p95()
    const ms = Math.min(Math.max(HEDGE_LEAST_MS, Number.isNaN(usual) ? 0 : usual), HEDGE_MOST_MS)
    this.#cancelHedge = this.#x.env.after(ms, () => {
      this.#x.suspect(health)
      const fresh = this.#x.registry.list.some(({ url }) => !this.#tried.has(url))
      if (fresh && this.#attempts.length < this.#x.tries && this.#x.budget.spend()) this.#launch()
    })
  }

  #answered(one: Try, response: Response): void {
    const { status } = response
    if (!this.#running.has(one)) {
      void response.body?.cancel().catch(() => undefined)
      return
    }
    const failed = FAILED.has(status)
    this.#note(one, { status }, failed)
    if (!failed && status !== 429) {
      this.#blameSlower(one)
      return this.#end(() => this.#resolve(response))
    }
    this.#forgetLast()
    this.#last = response
    const wait = retryAfter(response, this.#x.env.wall())
    if (wait > 0) one.health.notBefore = this.#x.env.now() + Math.min(wait, RETRY_AFTER_MOST_MS)
    this.#goOn(status === 429 ? wait : 0)
  }

  /** Ends one try and remembers what it says about its gateway. */
  #note(one: Try, result: { status?: number; error?: string }, failed: boolean): void {
    this.#leave(one)
    Object.assign(one.attempt, result)
    if (!failed) return this.#x.registry.succeeded(one.health, one.attempt.ms, true)
    this.#x.registry.failed(one.health, result.status === undefined && result.error !== 'time-out', true)
    this.#x.suspect(one.health)
  }

  #leave(one: Try): void {
    if (!this.#running.delete(one)) return
    if (!this.#running.size) this.#cancelHedge?.()
    one.cancel()
    one.health.inFlight--
    one.attempt.ms = this.#x.env.now() - one.startedAt
  }

  /** Who began earlier and is overtaken all the same was too slow. */
  #blameSlower(winner: Try): void {
    for (const one of [...this.#running]) {
      if (one.startedAt >= winner.startedAt) continue
      this.#note(one, { error: 'overtaken' }, true)
      one.abort.abort()
    }
  }

  /** After a failure: another try, what still runs, or the end. */
  #goOn(waitMs = 0): void {
    if (this.#over || this.#cancelWait) return
    const { env, tries, budget, tryTimeout } = this.#x
    const another = this.#plan.again && this.#attempts.length < tries && waitMs <= tryTimeout && budget.spend()
    if (!another) {
      if (this.#running.size) return
      const last = this.#last
      this.#last = undefined
      return last ? this.#end(() => this.#resolve(last)) : this.#fail('no gateway answered')
    }
    const back = JITTER_MS * 2 ** (this.#attempts.length - 1)
    this.#cancelHedge?.()
    const cancel = env.after(Math.max(waitMs, env.random() * back), () => {
      this.#cancelWait = undefined
      this.#launch()
    })
    this.#cancelWait = cancel
  }

  #fail(what: string): void {
    this.#end(() => this.#reject(new GlbpError(`${this.#plan.init.method} ${bareUrl(this.#plan.path)}: ${what}`,
      this.#attempts)))
  }

  #forgetLast(): void {
    void this.#last?.body?.cancel().catch(() => undefined)
    this.#last = undefined
  }

  #end(how: () => void): void {
    if (this.#over) return
    this.#over = true
    this.#cancelAll()
    this.#cancelHedge?.()
    this.#cancelWait?.()
    this.#forgetLast()
    for (const one of [...this.#running]) {
      this.#leave(one)
      one.abort.abort()
    }
    how()
  }
}

/** The user's signal stops the answer's body too, long after this request is over. */
function join(signal: AbortSignal, abort: AbortController): AbortSignal {
  if ('any' in AbortSignal) return AbortSignal.any([signal, abort.signal])
  signal.addEventListener('abort', () => abort.abort(signal.reason), { once: true })
  return abort.signal
}

/** Milliseconds of Retry-After, in seconds or as a date; 0 without one. */
export function retryAfter(response: Response, wall: number): number {
  const text = response.headers.get('Retry-After')
  if (!text) return 0
  const ms = /^\d+$/.test(text.trim()) ? Number(text) * 1000 : /[a-z]/i.test(text) ? Date.parse(text) - wall : 0
  return Number.isFinite(ms) && ms > 0 ? ms : 0
}
