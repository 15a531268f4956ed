import type { Core } from './glbp.js'

/** A tab that leads and says nothing for so many intervals is not waited for. */
const SILENCE = 2.5
const HELLO_MS = 5000
const GONE_MS = 3 * HELLO_MS

export interface TabsEvents {
  /** What a probe of another tab has found. */
  probe(result: unknown): void
  /** What another tab was served. */
  pool(value: unknown): void
  lead(leading: boolean): void
}

/**
 * The tabs of one browser that follow the same agents: one of them asks, and tells the others. A lock says which; it
 * is held only while the tab is seen, so that a frozen one never leads. Where there are no locks (pages of http), each
 * asks at an interval that grows with their number.
 */
export class Tabs {
  leading = false
  readonly #core: Core
  readonly #on: TabsEvents
  readonly #name: string
  readonly #id: string
  /** When each of the others was last heard. */
  readonly #others = new Map<string, number>()
  #channel: BroadcastChannel | undefined
  #leave: AbortController | undefined
  #cancelHello: (() => void) | undefined

  constructor(core: Core, on: TabsEvents) {
    const { env, options } = core
    this.#core = core
    this.#on = on
    this.#name = `glbp ${[...(options.agents ?? []), ...(options.gateways ?? [])].map((one) => JSON.stringify(one))}`
    this.#id = env.random().toString(36).slice(2)
  }

  /** How many times slower than alone this tab asks. */
  pace(): number {
    if (!this.#channel || this.leading) return 1
    if (this.#locks) return SILENCE
    const since = this.#core.env.now() - GONE_MS
    return 1 + [...this.#others.values()].filter((at) => at > since).length
  }

  join(): void {
    if (this.#leave) return
    const leave = (this.#leave = new AbortController())
    this.#channel = this.#open()
    const locks = this.#locks
    if (!this.#channel || !locks) {
      this.#greet()
      this.#on.lead(true)
      return
    }
    const hold = (): Promise<void> => {
      this.#lead(true)
      return new Promise((resolve) => leave.signal.addEventListener('abort', () => resolve(), { once: true }))
    }
    locks.request(this.#name, { signal: leave.signal }, () => (leave.signal.aborted ? undefined : hold()))
      .catch(() => undefined)
  }

  leave(): void {
    this.#lead(false)
    this.#cancelHello?.()
    this.#leave?.abort()
    this.#leave = undefined
    this.#channel?.close()
    this.#channel = undefined
    this.#others.clear()
  }

  tell(message: { probe?: unknown; pool?: unknown }): void {
    try {
      this.#channel?.postMessage({ ...message, from: this.#id })
    } catch {
      // Closed by the browser; this tab goes on by itself.
    }
  }

  get #locks(): Pick<LockManager, 'request'> | undefined {
    const { env } = this.#core
    return 'locks' in env ? env.locks : globalThis.navigator?.locks
  }

  #open(): BroadcastChannel | undefined {
    try {
      const { env } = this.#core
      const channel = env.channel ? env.channel(this.#name) : new BroadcastChannel(this.#name)
      channel.onmessage = ({ data }) => this.#hear(data)
      return channel
    } catch {
      return undefined
    }
  }

  #hear(data: unknown): void {
    const { from, probe, pool } = Object(data) as { from?: unknown; probe?: unknown; pool?: unknown }
    if (typeof from !== 'string') return
    this.#others.set(from, this.#core.env.now())
    if (probe) this.#on.probe(probe)
    if (pool) this.#on.pool(pool)
  }

  /** Without locks the tabs count each other. */
  #greet(): void {
    this.tell({})
    this.#cancelHello = this.#core.env.after(HELLO_MS, () => this.#greet())
  }

  #lead(leading: boolean): void {
    if (this.leading === leading) return
    this.leading = leading
    this.#on.lead(leading)
  }
}
