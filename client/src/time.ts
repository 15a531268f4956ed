import type { Env } from './types.js'

/** A number from 1 - part to 1 + part times `ms`. */
export function jitter(env: Env, ms: number, part: number): number {
  return ms * (1 + part * (2 * env.random() - 1))
}

/**
 * Runs what asks somebody, for `ms` at most.
 * @param stop ends it as well.
 */
export async function within<T>(
  env: Env, ms: number, run: (signal: AbortSignal) => Promise<T>, stop?: AbortSignal,
): Promise<T> {
  const late = new AbortController()
  const cancel = env.after(ms, () => late.abort())
  try {
    return await run(stop ? AbortSignal.any([stop, late.signal]) : late.signal)
  } finally {
    cancel()
  }
}
