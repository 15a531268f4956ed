import { Acceptor } from './accept.js'
import { jitter } from './env.js'
import { compareStamps, parsePool } from './pool.js'
import type { Env, Pool } from './types.js'
import { vetUrl, type UrlRules } from './url.js'

const HEDGE_MS = 150
const ANSWER_MS = 2000
const FIRST_RETRY_MS = 1000
const FAILURES_TO_TELL = 3

export interface FollowOptions {
  seeds: readonly string[]
  rules: UrlRules
  env: Env
  /** Another table is to be used. */
  onPool(pool: Pool): void
  /** For people: what was left out of an answer, once for each reason. */
  onDropped(reason: string): void
}

/** Keeps up with the pool that the agents publish. */
export class Follower {
  readonly acceptor = new Acceptor()
  readonly #o: FollowOptions
  readonly #seeds: string[]
  /** When an agent may be asked again: it had nothing newer, or did not answer. */
  readonly #notBefore = new Map<string, number>()
  readonly #told = new Set<string>()
  #preferred: string | undefined
  #failures = 0
  #cancel: (() => void) | undefined
  #abort: AbortController | undefined
  #running = false

  constructor(options: FollowOptions) {
    this.#o = options
    this.#seeds = [...new Set(options.seeds.map((seed) => vetUrl(seed)))]
  }

  start(): void {
    this.#running = true
    this.poll()
  }

  stop(): void {
    this.#running = false
    this.#cancel?.()
    this.#abort?.abort()
    this.#abort = undefined
  }

  /** Asks now, if some agent may be asked; a poll that is under way goes on. */
  poll(): void {
    if (!this.#running || this.#abort) return
    this.#cancel?.()
    const abort = (this.#abort = new AbortController())
    void this.#round(abort).then((answered) => {
      if (this.#abort !== abort) return
      this.#abort = undefined
      this.#plan(answered)
    })
  }

  /** The agents to ask: seeds for ever, others as long as the pool names them; the last good one first. */
  agents(): string[] {
    const { random } = this.#o.env
    const all = [...new Set([...this.#seeds, ...(this.acceptor.kept?.agents ?? [])])]
    for (let k = all.length - 1; k > 0; k--) {
      const other = Math.floor(random() * (k + 1))
      ;[all[k], all[other]] = [all[other]!, all[k]!]
    }
    return all.sort((a, b) => Number(b === this.#preferred) - Number(a === this.#preferred))
  }

  #plan(answered: boolean): void {
    const { env } = this.#o
    const refresh = this.acceptor.kept?.refresh_ms ?? 5000
    this.#failures = answered ? 0 : this.#failures + 1
    if (this.#failures === FAILURES_TO_TELL)
      this.#tell(`no agent answers (${this.agents().join(', ')}): are they up, and do they allow this origin (CORS)?`)
    const ms = answered ? refresh : Math.min(refresh, FIRST_RETRY_MS * 2 ** (this.#failures - 1))
    // Never sooner than the interval, so that an agent that had nothing newer is left alone that long.
    this.#cancel = env.after(jitter(env, ms * 1.125, 1 / 9) + 1, () => this.poll())
  }

  /** One poll: hedged until an agent answered well; then the others too, if that answer is in doubt. */
  async #round(abort: AbortController): Promise<boolean> {
    const now = this.#o.env.now()
    const queue = this.agents().filter((agent) => (this.#notBefore.get(agent) ?? 0) <= now)
    if (!queue.length) return true
    const served: Pool[] = []
    const asked: Promise<unknown>[] = []
    let doubtful = true
    const ask = async (agent: string) => {
      const answer = await this.#ask(agent, abort.signal)
      if (!answer) return false
      served.push(answer.pool)
      if (!answer.doubtful) doubtful = false
      return true
    }
    await this.#hedge(queue, (agent) => {
      const answer = ask(agent)
      asked.push(answer)
      return answer
    })
    if (doubtful) {
      asked.push(...queue.splice(0).map(ask))
      await Promise.all(asked)
    } else {
      // The rest of this round has nothing to add.
      if (this.#abort === abort) abort.abort()
    }
    if (!this.#running || !served.length) return false
    const pool = this.acceptor.poll(served, this.#o.env.now())
    if (pool) this.#o.onPool(pool)
    return true
  }

  /** Asks the next of `queue` 150 ms after the last one, or when that one failed; ends with a good answer. */
  #hedge(queue: string[], ask: (agent: string) => Promise<boolean>): Promise<void> {
    return new Promise((resolve) => {
      let open = 0
      let cancel: (() => void) | undefined
      const next = (): void => {
        cancel?.()
        const agent = queue.shift()
        if (agent === undefined) {
          if (!open) resolve()
          return
        }
        open++
        cancel = this.#o.env.after(HEDGE_MS, next)
        void ask(agent).then((good) => {
          open--
          if (!good) return next()
          cancel?.()
          resolve()
        })
      }
      next()
    })
  }

  async #ask(agent: string, signal: AbortSignal): Promise<{ pool: Pool; doubtful: boolean } | undefined> {
    const { env, rules } = this.#o
    const abort = new AbortController()
    const stop = () => abort.abort()
    const cancel = env.after(ANSWER_MS, stop)
    signal.addEventListener('abort', stop)
    const kept = this.acceptor.kept
    try {
      // no-cache: the browser asks with If-None-Match by itself and shows the kept answer after a 304.
      const answer = await env.fetch(agent, { cache: 'no-cache', credentials: 'omit', signal: abort.signal })
      if (!answer.ok) throw new Error(`it answered ${answer.status}`)
      const dropped: string[] = []
      const pool = parsePool(await answer.json(), rules, dropped)
      for (const reason of dropped) this.#tell(`left out of the pool of ${agent}: ${reason}`)
      const order = kept ? compareStamps(pool, kept) : 1
      if (order <= 0) this.#notBefore.set(agent, env.now() + pool.refresh_ms)
      const stale = answer.headers.get('GLBP-Stale') === '1'
      const doubtful = stale || !pool.majority || pool.lone || order < 0
      if (!doubtful) this.#preferred = agent
      return { pool, doubtful }
    } catch (error) {
      if (this.#preferred === agent) this.#preferred = undefined
      // Whoever is not there is asked again; what answers wrongly is to be mended by somebody.
      if (error instanceof Error && !/^(Type|Abort)Error$/.test(error.name)) this.#tell(`${agent}: ${error.message}`)
      return undefined
    } finally {
      cancel()
      signal.removeEventListener('abort', stop)
    }
  }

  #tell(reason: string): void {
    if (this.#told.size > 100 || this.#told.has(reason)) return
    this.#told.add(reason)
    this.#o.onDropped(reason)
  }
}
