import type { Core } from './glbp.js'
import { CHARACTERS_MAX, recall, SCHEMA, type Kept } from './store.js'

const LATENCY_MAX_AGE_MS = 5 * 60_000

/** Keeps what the next page may begin with, unless it is too much. */
export function save({ env, options, pool, registry }: Core): void {
  const { storageKey = false } = options
  // The static list is the page's own: there is nothing to remember of it.
  if (storageKey === false || !pool?.avg) return
  const latency: Record<string, number> = {}
  for (const health of registry.list)
    if (Number.isFinite(health.latency)) latency[health.url] = Math.round(health.latency)
  const kept: Kept = { schema: SCHEMA, at: env.wall(), pool, latency }
  const text = JSON.stringify(kept)
  try {
    if (text.length <= CHARACTERS_MAX) env.storage()?.setItem(storageKey, text)
  } catch {
    // It goes on in memory.
  }
}

/** Gives gateways of which nothing is known yet what the last page knew of them. */
export function recallLatencies({ env, options, rules, registry }: Core): void {
  const { age = Infinity, latency } = recall(env, options.storageKey ?? false, rules) ?? {}
  if (age > LATENCY_MAX_AGE_MS) return
  for (const health of registry.list) {
    const ms: unknown = Object(latency)[health.url]
    if (typeof ms === 'number' && ms >= 1 && ms < 60_000) health.latency ||= ms
  }
  registry.version++
}
