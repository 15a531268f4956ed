import type { Env } from './types.js'

/** A number from 1 - part to 1 + part times `ms`. */
export function jitter(env: Env, ms: number, part: number): number {
  return ms * (1 + part * (2 * env.random() - 1))
}
