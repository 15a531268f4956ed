import type { Attempt } from './types.js'

/** No gateway answered a request. */
export class GlbpError extends Error {
  override readonly name = 'GlbpError'
  /** What was tried, in order; urls without credentials, query and fragment. */
  readonly attempts: readonly Attempt[]

  constructor(what: string, attempts: readonly Attempt[]) {
    const tried = attempts.map(({ url, ms, status, error }) => `${url}: ${status ?? error} after ${Math.round(ms)} ms`)
    super([what, ...tried].join('; '))
    this.attempts = attempts
  }
}
