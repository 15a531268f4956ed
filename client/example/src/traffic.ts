import { ref, shallowRef } from 'vue'

/** One request of the page, when it has ended. */
export interface Served {
  /** performance.now() of its beginning. */
  at: number
  ms: number
  /** Url of the gateway that answered; undefined: nobody did. */
  url?: string
  node?: string
  error?: string
}

const KEPT = 4000
/** The numbers on the page are renewed so often at most: each time is a piece of work for the browser. */
const SHOWN_MS = 250
export const SLOW_MS = 2500

/** Sends requests at an even rate and keeps who answered. */
export class Traffic {
  readonly served: Served[] = []
  readonly counts = { sent: 0, done: 0, failed: 0, slow: 0, slowest: 0 }
  /** The counts as they were lately, for the page. */
  readonly shown = shallowRef(this.counts)
  readonly perSecond = ref(0)
  readonly byUrl = new Map<string, number>()
  readonly #fetch: (path: string) => Promise<Response>
  readonly #onServed: (one: Served) => void
  #timer: ReturnType<typeof setInterval> | undefined
  #showing = false

  constructor(fetch: (path: string) => Promise<Response>, onServed: (one: Served) => void) {
    this.#fetch = fetch
    this.#onServed = onServed
  }

  setRate(perSecond: number): void {
    clearInterval(this.#timer)
    this.perSecond.value = perSecond
    if (perSecond > 0) this.#timer = setInterval(() => void this.#send(), 1000 / perSecond)
  }

  async #send(): Promise<void> {
    const one: Served = { at: performance.now(), ms: 0 }
    this.counts.sent++
    try {
      const answer = await this.#fetch('/api/whoami')
      if (!answer.ok) throw new Error(`answered ${answer.status}`)
      one.node = ((await answer.json()) as { node: string }).node
      one.url = answer.url.slice(0, -'/api/whoami'.length)
    } catch (error) {
      one.error = (error as Error).message
    }
    one.ms = performance.now() - one.at
    this.#count(one)
  }

  #count(one: Served): void {
    const { counts } = this
    counts.done++
    if (one.error !== undefined) counts.failed++
    if (one.ms > SLOW_MS) counts.slow++
    counts.slowest = Math.max(counts.slowest, one.ms)
    if (one.url !== undefined) this.byUrl.set(one.url, (this.byUrl.get(one.url) ?? 0) + 1)
    this.served.push(one)
    if (this.served.length > KEPT) this.served.splice(0, KEPT / 2)
    this.#onServed(one)
    this.#show()
  }

  #show(): void {
    if (this.#showing) return
    this.#showing = true
    setTimeout(() => {
      this.#showing = false
      this.shown.value = { ...this.counts }
    }, SHOWN_MS)
  }
}
