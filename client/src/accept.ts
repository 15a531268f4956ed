import type { Pool } from './types.js'

const POLLS_TO_FORGET = 3

/**
 * Which table a client keeps (protocol, section 8): the greatest stamp that it saw. When for 3 polls, and at
 * least 2 hold, nobody served that stamp or a greater one, it is forgotten: the cluster began anew.
 */
export class Acceptor {
  kept: Pool | undefined
  #without = 0
  #servedAt = 0

  /** Takes a table without asking: the first one, from storage or a server. */
  adopt(pool: Pool, now: number): void {
    this.kept = pool
    this.#without = 0
    this.#servedAt = now
  }

  /**
   * Judges one poll.
   * @param served the tables that agents answered with, at least one.
   * @returns the table to use if it is another one.
   */
  poll(served: readonly Pool[], now: number): Pool | undefined {
    const best = served.reduce((a, b) => (preferPool(b, a) > 0 ? b : a))
    const kept = this.kept
    if (kept) {
      if (served.some((pool) => compareStamps(pool, kept) >= 0)) {
        this.#without = 0
        this.#servedAt = now
      } else {
        this.#without++
      }
      const forgotten = this.#without >= POLLS_TO_FORGET && now - this.#servedAt >= 2 * holdMs(kept)
      const newer = compareStamps(best, kept)
      if (newer === 0 || (newer < 0 && !forgotten && !outranks(best, kept))) return undefined
    }
    this.adopt(best, now)
    return best
  }
}

/** A table of a majority, or one that is not lone, replaces a lesser one even when its stamp is lower. */
function outranks(a: Pool, b: Pool): boolean {
  return a.majority !== b.majority ? a.majority : b.lone && !a.lone
}

/** As agents write it: `GLBP-Stamp`, and `stamp=` of a long poll. */
export const stampOf = ({ term, avg, version }: Pool): string => `${term}.${avg}.${version}`

/** Orders stamps: below 0 when `a` is the older one. */
export function compareStamps(a: Pool, b: Pool): number {
  const name = a.avg < b.avg ? -1 : a.avg > b.avg ? 1 : 0
  return a.term - b.term || name || a.version - b.version
}

/** Orders tables served at one time (protocol, section 8): majority, not lone, stamp. */
export function preferPool(a: Pool, b: Pool): number {
  return Number(a.majority) - Number(b.majority) || Number(b.lone) - Number(a.lone) || compareStamps(a, b)
}

/** Not less than what an agent may be configured to. */
const holdMs = ({ hold_ms }: Pool): number => Math.max(hold_ms || 3500, 150)

/** How often a frontend asks for the pool. */
export const refreshMs = (pool: Pool | undefined): number => Math.min(Math.max(pool?.refresh_ms || 5000, 500), 600_000)
