const PART = 0.2
const FLOOR_PER_SECOND = 1
const START = 20
const MOST = 50

/** Retries and hedges may be 20 % of the traffic and a little: they must not be what breaks the gateways. */
export class Budget {
  #tokens = START
  #at: number
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
    this.#at = now()
  }

  /** A request begins. */
  earn(): void {
    this.#tokens = Math.min(this.#tokens + PART, MOST)
  }

  /** @returns whether another try may be sent. */
  spend(): boolean {
    const now = this.#now()
    this.#tokens = Math.min(this.#tokens + ((now - this.#at) / 1000) * FLOOR_PER_SECOND, MOST)
    this.#at = now
    if (this.#tokens < 1) return false
    this.#tokens--
    return true
  }
}
