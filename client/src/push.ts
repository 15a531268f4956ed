import { refreshMs, stampOf } from './accept.js'
import type { Follower } from './follow.js'
import type { Core } from './glbp.js'
import { jitter, within } from './time.js'
import type { GlbpOptions, Stream } from './types.js'

const WAIT_S = 30
/** The agent's jitter, and a way there and back. */
const LATE_MS = WAIT_S * 1000 * (17 / 16) + 5000
const AGAIN_MS = 500
const AGAIN_MOST_MS = 30_000
/** A stream that breaks so often without news is another agent's. */
const BREAKS = 2
/** So much later than polling a stream may bring the same news. */
const GRACE_MS = 2000

/** News of the pool as they come: by a long poll, or by a stream of events. One agent at a time. */
export class Push {
  /** The last agent asked does push. */
  open = false
  readonly #core: Core
  readonly #follower: Follower
  readonly #run: (agent: string) => void
  #failures = 0
  #agent: string | undefined
  #last: string | undefined
  /** Of the last table that this agent gave, believed or not. */
  #stamp: string | undefined
  #newsAt = -Infinity
  #end: (() => void) | undefined
  #cancelCheck: (() => void) | undefined
  #unlisten: (() => void) | undefined
  #running = false

  constructor(core: Core, follower: Follower, how: NonNullable<GlbpOptions['follow']>) {
    this.#core = core
    this.#follower = follower
    this.#run = how === 'events' ? (agent) => this.#stream(agent) : (agent) => void this.#longPoll(agent)
  }

  start(): void {
    if (this.#running) return
    this.#running = true
    this.#failures = 0
    // Its first table comes by polling, which asks several agents.
    this.#unlisten = this.#core.on('pool', () => (this.#agent ? this.#check() : this.#next()))
    if (this.#follower.kept) this.#next()
  }

  stop(): void {
    this.#running = this.open = false
    this.#unlisten?.()
    this.#cancelCheck?.()
    this.#end?.()
    this.#end = undefined
  }

  /** Polling brought another table: a stream that is not about to do so is dead. */
  #check(): void {
    const { env } = this.#core
    const since = env.now() - GRACE_MS
    this.#cancelCheck?.()
    this.#cancelCheck = env.after(GRACE_MS, () => {
      if (!this.open || this.#newsAt >= since) return
      this.#end?.()
      this.#failed(this.#agent!)
    })
  }

  /** Asks an agent: not the one that has just failed, where there is another. */
  #next(): void {
    const agents = this.#follower.agents()
    const agent = agents.find((one) => one !== this.#last) ?? agents[0]
    if (agent === undefined) return
    if (agent !== this.#agent) this.#stamp = undefined
    this.#last = undefined
    this.#agent = agent
    this.#run(agent)
  }

  #failed(agent: string): void {
    this.open = false
    this.#last = agent
    const ms = Math.min(AGAIN_MS * 2 ** this.#failures++, AGAIN_MOST_MS)
    this.#again(ms)
  }

  #again(ms: number): void {
    if (this.#running) this.#end = this.#core.env.after(jitter(this.#core.env, ms, 0.2), () => this.#next())
  }

  #news(value: unknown, agent: string): string | undefined {
    this.open = true
    this.#failures = 0
    this.#newsAt = this.#core.env.now()
    return this.#follower.pushed(value, agent)
  }

  async #longPoll(agent: string): Promise<void> {
    const { env } = this.#core
    const startedAt = env.now()
    const { kept } = this.#follower
    const stamp = this.#stamp ?? (kept && stampOf(kept))
    const abort = new AbortController()
    const end = (this.#end = () => abort.abort())
    const url = `${agent}?wait=${WAIT_S}s&stamp=${encodeURIComponent(stamp ?? '')}`
    try {
      const [status, value] = await within(env, LATE_MS, async (signal) => {
        const answer = await env.fetch(url, { cache: 'no-store', credentials: 'omit', signal })
        return [answer.status, answer.ok ? ((await answer.json()) as unknown) : undefined]
      }, abort.signal)
      if (this.#end !== end) return
      if (status !== 200 && status !== 304) return this.#failed(agent)
      this.open = true
      this.#failures = 0
      const newer = status === 200 && this.#news(value, agent)
      if (newer) this.#stamp = newer
      // One that says at once that it has nothing newer is not to be asked in a circle.
      const waited = status === 304 && env.now() - startedAt > AGAIN_MS
      this.#again(newer || waited ? 0 : refreshMs(kept))
    } catch {
      if (this.#end === end) this.#failed(agent)
    }
  }

  #stream(agent: string): void {
    const { env } = this.#core
    let breaks = 0
    let source: Stream
    try {
      const url = eventsUrl(agent, this.#follower.kept?.group)
      source = env.events ? env.events(url) : new EventSource(url)
    } catch {
      return this.#failed(agent)
    }
    this.#end = () => source.close()
    source.addEventListener('pool', ({ data }) => {
      breaks = 0
      this.#news(parse(data), agent)
    })
    source.addEventListener('error', () => {
      this.open = false
      // The browser tries again by itself, but for 503, 204 and what is no stream: then it has closed for good.
      if (source.readyState !== 2 && ++breaks < BREAKS) return
      source.close()
      this.#failed(agent)
    })
  }
}

/** `/pool/web` has its events at `/events/web`; a `/pool` at those of its group. */
function eventsUrl(agent: string, group = ''): string {
  return agent.replace(/\/pool(\/[^/]*)?$/, (_, name?: string) => `/events${name ?? `/${encodeURIComponent(group)}`}`)
}

function parse(data: unknown): unknown {
  try {
    return JSON.parse(String(data))
  } catch {
    return undefined
  }
}
