import type { Core } from './glbp.js'
import type { Channel, Locks } from './types.js'

/** A tab that leads and says nothing for so many intervals is not waited for. */
const SILENCE = 2.5

export interface TabsEvents {
  /** What a probe of another tab has found. */
  probe(result: unknown): void
  /** What another tab was served. */
  pool(value: unknown): void
  /** This tab is to listen to an agent's stream, or no more. */
  lead(leading: boolean): void
}

/**
 * The tabs of one browser that follow the same agents. Whoever asks tells the others, who put off their own question for
 * as long: together they ask as often as one. A lock says who asks first, the leader; it is held only while that tab is
 * seen, so that a frozen one never leads. Where there are no locks (pages of http) it is whose turn comes first.
 */
export class Tabs {
  leading = false
  readonly #core: Core
  readonly #on: TabsEvents
  readonly #name: string
  #channel: Channel | undefined
  #leave: AbortController | undefined

  constructor(core: Core, on: TabsEvents) {
    const { options } = core
    this.#core = core
    this.#on = on
    this.#name = `glbp ${[...(options.agents ?? []), ...(options.gateways ?? [])].map((one) => JSON.stringify(one))}`
  }

  /** How many times slower than alone this tab asks. */
  pace(): number {
    return !this.#channel || this.leading || !this.#locks ? 1 : SILENCE
  }

  join(): void {
    if (this.#leave) return
    const leave = (this.#leave = new AbortController())
    this.#channel = this.#open()
    const locks = this.#locks
    if (!this.#channel) return this.#lead(true)
    // A stream in each tab would use up the connections that a browser opens to one agent: without locks there is none.
    if (!locks) return
    const hold = (): Promise<void> => {
      this.#lead(true)
      return new Promise((resolve) => leave.signal.addEventListener('abort', () => resolve(), { once: true }))
    }
    locks.request(this.#name, { signal: leave.signal }, () => (leave.signal.aborted ? undefined : hold()))
      .catch(() => leave.signal.aborted || this.#lead(true))
  }

  leave(): void {
    this.#lead(false)
    this.#leave?.abort()
    this.#leave = undefined
    this.#channel?.close()
    this.#channel = undefined
  }

  tell(message: { probe?: unknown; pool?: unknown }): void {
    try {
      this.#channel?.postMessage(message)
    } catch {
      // Closed by the browser; this tab goes on by itself.
    }
  }

  get #locks(): Locks | undefined {
    const { env } = this.#core
    return 'locks' in env ? env.locks : globalThis.navigator?.locks
  }

  #open(): Channel | undefined {
    try {
      const { env } = this.#core
      const channel = env.channel ? env.channel(this.#name) : new BroadcastChannel(this.#name)
      channel.onmessage = (event: { data: unknown }) => this.#hear(event.data)
      return channel
    } catch {
      return undefined
    }
  }

  #hear(data: unknown): void {
    const { probe, pool } = Object(data) as { probe?: unknown; pool?: unknown }
    if (probe) this.#on.probe(probe)
    if (pool) this.#on.pool(pool)
  }

  #lead(leading: boolean): void {
    if (this.leading === leading) return
    this.leading = leading
    this.#on.lead(leading)
  }
}
