import { EARNED } from './budget.js'
import type { Choice } from './choice.js'
import type { Emitter } from './emitter.js'
import type { Engine } from './engine.js'
import { GlbpError } from './error.js'
import { p95, type Health, type Registry } from './health.js'
import type { Plan } from './request.js'
import type { Attempt, Env, GlbpOptions } from './types.js'
import { bareUrl, joinUrl } from './url.js'

const JITTER_MS = 100
const HEDGE_LEAST_MS = 1000
const HEDGE_MOST_MS = 2000
const RETRY_AFTER_MOST_MS = 60_000

/** What all requests of a client share. */
export interface Exchanger {
  readonly emit: Emitter['emit']
  readonly on: Emitter['on']
  readonly env: Env
  readonly options: GlbpOptions
  readonly registry: Registry
  readonly choice: Choice
  /** Takes tokens for another try, if there are any. */
  readonly budget: (count: number) => boolean
  /** There once it was started. */
  readonly engine: Pick<Engine, 'suspect' | 'failed' | 'why'> | undefined
  /** Whether a pool may still come. */
  readonly started: number
}

interface Try {
  health: Health
  abort: AbortController
  startedAt: number
  attempt: Attempt
  cancel(): void
}

/** Sends a request, with all its tries, until the first good answer. */
export function exchange(x: Exchanger, plan: Plan): Promise<Response> {
  const { env, registry, choice, budget } = x
  const { tries = 3, tryTimeout = 10_000, timeout = 15_000 } = x.options
  const { init, signal, key, again, beside } = plan
  const startedAt = env.now()
  const tried = new Set<string>()
  const attempts: Attempt[] = []
  const running = new Set<Try>()
  let last: Response | undefined
  let cancelHedge: (() => void) | undefined
  let cancelWait: (() => void) | undefined
  let over = false

  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const onAbort = () => end(signal!.reason)
    signal?.addEventListener('abort', onAbort)
    const cancelAll = env.after(timeout, () => {
      for (const one of running) note(one, { error: 'no answer' }, true)
      fail(attempts.length ? 'no gateway answered' : (x.engine?.why() ?? 'there is no pool yet'))
    })
    budget(-EARNED)
    launch()

    function launch(): void {
      cancelWait?.()
      cancelWait = undefined
      // When each was tried once, any may be tried again.
      const health = choice.pick(key, tried) ?? choice.pick(key)
      if (!health) {
        if (x.started) cancelWait = x.on('pool', launch)
        else fail('there is no pool yet: start() was not called')
        return
      }
      let url: string
      try {
        url = joinUrl(health.url, plan.path(registry.list))
      } catch (error) {
        return end(error)
      }
      const from = attempts.at(-1)
      if (from) x.emit('failover', { from: from.url, to: health.url, reason: `${from.status ?? from.error ?? 'slow'}` })
      tried.add(health.url)
      const attempt: Attempt = { url: bareUrl(url), ms: 0 }
      attempts.push(attempt)
      const abort = new AbortController()
      const cancel = env.after(tryTimeout, () => {
        note(one, { error: 'time-out' }, true)
        abort.abort()
        goOn()
      })
      const one: Try = { health, abort, attempt, startedAt: env.now(), cancel }
      running.add(one)
      health.inFlight++
      armHedge(health)
      // The caller's signal stops the answer's body too, long after this request is over.
      const either = signal ? AbortSignal.any([signal, abort.signal]) : abort.signal
      env.fetch(url, { ...init, signal: either }).then(
        (response) => answered(one, response),
        (error: unknown) => {
          if (!running.has(one)) return
          note(one, { error: String(error) }, true, true)
          goOn()
        },
      )
    }

    /** When there is no answer for long, another gateway is asked as well. */
    function armHedge(health: Health): void {
      cancelHedge?.()
      if (!beside) return
      const ms = Math.min(Math.max(HEDGE_LEAST_MS, 3 * p95(health)), HEDGE_MOST_MS)
      cancelHedge = env.after(ms, () => {
        x.engine?.suspect(health)
        if (tried.size < registry.list.length && attempts.length < tries && budget(1)) launch()
      })
    }

    function answered(one: Try, response: Response): void {
      const { status } = response
      if (!running.has(one)) return drop(response)
      const failed = status > 501 && status < 505
      note(one, { status }, failed)
      if (!failed && status !== 429) {
        // Who began earlier and is overtaken all the same was too slow.
        for (const other of running) {
          if (other.startedAt >= one.startedAt) continue
          note(other, { error: 'overtaken' }, true)
          other.abort.abort()
        }
        return end(undefined, response)
      }
      drop(last)
      last = response
      const wait = retryAfter(response, env.wall())
      if (wait) one.health.notBefore = env.now() + Math.min(wait, RETRY_AFTER_MOST_MS)
      goOn(failed ? 0 : wait)
    }

    /** Ends one try and remembers what it says about its gateway. */
    function note(one: Try, result: { status?: number; error?: string }, failed: boolean, network = false): void {
      const { health, attempt } = one
      leave(one)
      Object.assign(attempt, result)
      if (!failed) return registry.succeeded(health, attempt.ms, true)
      registry.failed(health, network, true)
      x.engine?.suspect(health)
    }

    function leave(one: Try): void {
      running.delete(one)
      if (!running.size) cancelHedge?.()
      one.cancel()
      one.health.inFlight--
      one.attempt.ms = env.now() - one.startedAt
    }

    /** After a failure: another try, what still runs, or the end. */
    function goOn(waitMs = 0): void {
      if (over || cancelWait) return
      if (again && attempts.length < tries && waitMs <= tryTimeout && budget(1)) {
        cancelHedge?.()
        const pause = env.random() * JITTER_MS * 2 ** (attempts.length - 1)
        cancelWait = env.after(Math.max(waitMs, pause), launch)
      } else if (!running.size) fail('no gateway answered')
    }

    /** Hands over the last answer of failure; an error where there is none. */
    function fail(what: string): void {
      end(new GlbpError(`${init.method} ${bareUrl(plan.target)}: ${what}`, attempts), last)
      x.engine?.failed(plan, startedAt)
    }

    /** With an error, or the answer that there is in its place. */
    function end(error: unknown, response?: Response): void {
      if (over) return
      over = true
      signal?.removeEventListener('abort', onAbort)
      cancelAll()
      cancelHedge?.()
      cancelWait?.()
      for (const one of running) {
        leave(one)
        one.abort.abort()
      }
      if (last !== response) drop(last)
      if (response) resolve(response)
      else reject(error)
    }
  })
}

/** Lets go of an answer that nobody reads. */
function drop(response: Response | undefined): void {
  response?.body?.cancel().catch(() => undefined)
}

/** Milliseconds of Retry-After, in seconds or as a date; 0 without one. */
export function retryAfter(response: Response, wall: number): number {
  const text = response.headers.get('Retry-After') ?? ''
  return Math.max(/[a-z]/i.test(text) ? Date.parse(text) - wall : Number(text) * 1000, 0) || 0
}
