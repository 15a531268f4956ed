import { Acceptor, compareStamps, refreshMs, stampOf } from './accept.js'
import type { Core } from './glbp.js'
import { parsePool } from './pool.js'
import { jitter, within } from './time.js'
import type { Pool } from './types.js'
import { vetUrl } from './url.js'

const HEDGE_MS = 150
const ANSWER_MS = 2000
const FIRST_RETRY_MS = 1000
const FAILURES_TO_TELL = 3
const IS_IT_ONE = 'is this the address of an agent, and the name of a group of it?'

export interface FollowerEvents {
  /** How many times slower than alone this tab polls. */
  pace(): number
  /** For people: what was left out, or is wrong; told once. */
  tell(text: string): void
  /** An agent has served a table that is not in doubt. */
  served(pool: Pool): void
  /** An agent could not be asked. */
  unreadable(agent: string): void
}

/** A table, and whether others are to be asked as well before it is believed. */
interface Served {
  pool: Pool
  doubtful: boolean
  newer: boolean
}

/** Keeps up with the pool that the agents publish. */
export class Follower {
  readonly #core: Core
  readonly #on: FollowerEvents
  readonly #acceptor = new Acceptor()
  readonly #seeds: readonly string[]
  /** When an agent may be asked again: it had nothing newer. */
  readonly #notBefore = new Map<string, number>()
  /** Of each agent that gave no pool when it was asked last, why. */
  readonly reasons = new Map<string, string>()
  #preferred: string | undefined
  #failures = 0
  #cancel: (() => void) | undefined
  #abort: AbortController | undefined
  /** In doubt until the others have been asked. */
  #pushed: Served | undefined
  #running = false

  constructor(core: Core, on: FollowerEvents) {
    this.#core = core
    this.#on = on
    this.#seeds = (core.options.agents ?? []).map((agent) => vetUrl(agent))
    // The static list is no table of an agent.
    if (core.pool?.avg) this.#acceptor.adopt(core.pool, core.env.now())
  }

  /** The table in use; undefined before there was one. */
  get kept(): Pool | undefined {
    return this.#acceptor.kept
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

  /** A stream or a long poll has brought what `agent` serves. @returns its stamp, where that is a newer one. */
  pushed(value: unknown, agent: string): string | undefined {
    if (!this.#running) return undefined
    try {
      const served = this.#read(value, agent)
      if (!served.doubtful) {
        this.#take([served])
        this.plan()
      } else {
        this.#pushed = served
        this.poll()
      }
      return served.newer ? stampOf(served.pool) : undefined
    } catch (error) {
      this.#on.tell(`${agent}: ${(error as Error).message}`)
      return undefined
    }
  }

  /** Another tab has polled: this one need not, for as long. Its word empties nothing either. */
  hear(value: unknown): void {
    if (!this.#running) return
    try {
      const pool = this.#acceptor.poll([parsePool(value, this.#core.rules)], this.#core.env.now())
      if (pool) this.#core.use(pool)
      this.plan()
    } catch {
      // That tab has told it.
    }
  }

  /** The next poll is an interval from now. */
  plan(): void {
    if (this.#abort || !this.#running) return
    this.#cancel?.()
    this.#plan(true)
  }

  /** The agents to ask: those of the options for ever, others as long as the pool names them; the last good one first. */
  agents(): string[] {
    const { random } = this.#core.env
    const all = [...new Set([...this.#seeds, ...(this.kept?.agents ?? [])])]
    for (let k = all.length - 1; k > 0; k--) {
      const other = Math.floor(random() * (k + 1))
      ;[all[k], all[other]] = [all[other]!, all[k]!]
    }
    return all.sort((a, b) => Number(b === this.#preferred) - Number(a === this.#preferred))
  }

  #plan(answered: boolean): void {
    const { env } = this.#core
    const refresh = refreshMs(this.kept)
    this.#failures = answered ? 0 : this.#failures + 1
    if (this.#failures === FAILURES_TO_TELL) this.#on.tell(`no agent answers, ${this.#core.pool ? 'the pool in use stays' : 'and there is no pool'}: ${this.agents().join(', ')}`)
    const ms = answered ? refresh : Math.min(refresh, FIRST_RETRY_MS * 2 ** (this.#failures - 1))
    // Never sooner than the interval, so that an agent that had nothing newer is left alone that long.
    this.#cancel = env.after(jitter(env, ms * this.#on.pace() * 1.125, 1 / 9) + 1, () => this.poll())
  }

  /** One poll: hedged until an agent answered well; then the others too, if that answer is in doubt. */
  async #round(abort: AbortController): Promise<boolean> {
    const now = this.#core.env.now()
    const queue = this.agents().filter((agent) => (this.#notBefore.get(agent) ?? 0) <= now)
    if (!queue.length && !this.#pushed) return true
    const served: Served[] = []
    const asked: Promise<unknown>[] = []
    const ask = (agent: string) => {
      const answer = this.#ask(agent, abort.signal).then((found) => found && served.push(found))
      asked.push(answer)
      return answer
    }
    await this.#hedge(queue, ask)
    if (served.every(({ doubtful }) => doubtful)) {
      queue.splice(0).forEach(ask)
      await Promise.all(asked)
    } else if (this.#abort === abort) {
      // The rest of this round has nothing to add.
      abort.abort()
    }
    if (this.#pushed) served.push(this.#pushed)
    this.#pushed = undefined
    if (!this.#running || !served.length) return false
    this.#take(served)
    return true
  }

  #take(served: readonly Served[]): void {
    const pool = this.#acceptor.poll(served.map((one) => one.pool), this.#core.env.now())
    const sure = served.find(({ doubtful }) => !doubtful)
    if (sure) this.#on.served(sure.pool)
    if (pool) this.#core.use(pool)
  }

  /** Asks the next of `queue` 150 ms after the last one, or when that one failed; ends with a good answer. */
  #hedge(queue: string[], ask: (agent: string) => Promise<unknown>): Promise<void> {
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
        cancel = this.#core.env.after(HEDGE_MS, next)
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

  async #ask(agent: string, stop: AbortSignal): Promise<Served | undefined> {
    const { env } = this.#core
    try {
      return await within(env, ANSWER_MS, async (signal) => {
        // no-cache: the browser asks with If-None-Match by itself and shows the kept answer after a 304.
        const answer = await env.fetch(agent, { cache: 'no-cache', credentials: 'omit', signal })
        if (!answer.ok) throw new Error(await refusal(answer))
        const served = this.#read(await answer.json(), agent, answer.headers.get('GLBP-Stale') === '1')
        this.reasons.delete(agent)
        return served
      }, stop)
    } catch (error) {
      if (stop.aborted) return undefined
      if (this.#preferred === agent) this.#preferred = undefined
      const { name, message } = error as Error
      const reason =
        name === 'AbortError' ? `no answer in ${ANSWER_MS / 1000} s`
        : name === 'SyntaxError' ? `its answer is no JSON: ${IS_IT_ONE}`
        : message
      this.reasons.set(agent, reason)
      // Whoever is not there is asked again; what answers wrongly is to be mended by somebody.
      if (name === 'TypeError') this.#on.unreadable(agent)
      else if (name !== 'AbortError') this.#on.tell(`${agent}: ${reason}`)
      return undefined
    }
  }

  /** @throws Error for what is no pool. */
  #read(value: unknown, agent: string, stale = false): Served {
    const { kept } = this
    const dropped: string[] = []
    const pool = parsePool(value, this.#core.rules, dropped)
    for (const reason of dropped) this.#on.tell(`left out of the pool of ${agent}: ${reason}`)
    const order = kept ? compareStamps(pool, kept) : 1
    if (order <= 0) this.#notBefore.set(agent, this.#core.env.now() + refreshMs(pool))
    const doubtful = stale || !pool.majority || pool.lone || order < 0
    if (!doubtful) this.#preferred = agent
    return { pool, doubtful, newer: order > 0 }
  }
}

/** What an agent says beside a status, and what is likely wrong where it is none. */
async function refusal(answer: Response): Promise<string> {
  const { error } = Object(await answer.json().catch(() => undefined)) as { error?: unknown }
  const said = typeof error === 'string' ? ` (${error})` : ''
  return `it answered ${answer.status}${said}${answer.status === 404 ? `: ${IS_IT_ONE}` : ''}`
}
