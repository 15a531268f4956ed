const FLOOR_PER_SECOND = 1
const START = 20
const MOST = 50

/** What a request earns: retries and hedges may be a fifth of the traffic and a little. */
export const EARNED = 0.2

/**
 * Keeps retries from being what breaks the gateways.
 * @returns takes tokens, or gives them where `count` is below 0; false: there are not as many.
 */
export function createBudget(now: () => number): (count: number) => boolean {
  let tokens = START
  let at = now()
  return (count) => {
    const before = at
    at = now()
    tokens = Math.min(tokens + ((at - before) / 1000) * FLOOR_PER_SECOND, MOST)
    if (tokens < count) return false
    tokens -= count
    return true
  }
}
