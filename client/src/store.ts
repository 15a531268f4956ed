import { parsePool } from './pool.js'
import type { Env, Pool } from './types.js'
import type { UrlRules } from './url.js'

export const SCHEMA = 1
export const CHARACTERS_MAX = 32_000
const POOL_MAX_AGE_MS = 7 * 86_400_000
const SKEW_MS = 60_000

/** What outlives the page, as it lies in storage. */
export interface Kept {
  schema: number
  at: number
  pool: Pool
  /** Milliseconds, by url. */
  latency: Record<string, number>
}

/** What the last page kept, and its age in ms. Storage that is forbidden, full or broken costs only that. */
export function recall(env: Env, key: string | false, rules: UrlRules): (Kept & { age: number }) | undefined {
  try {
    const text = key !== false && env.storage()?.getItem(key)
    const kept = JSON.parse(String(text)) as Kept
    const age = env.wall() - kept.at
    // A time in the future means that a clock was wrong: nothing can be said of the age.
    if (kept.schema === SCHEMA && age >= -SKEW_MS && age < POOL_MAX_AGE_MS)
      return { ...kept, age, pool: parsePool(kept.pool, rules) }
  } catch {
    // It begins anew.
  }
  return undefined
}
