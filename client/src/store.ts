import type { Registry } from './health.js'
import { parsePool } from './pool.js'
import type { Env, Pool } from './types.js'
import type { UrlRules } from './url.js'

const SCHEMA = 1
const CHARACTERS_MAX = 32_000
const POOL_MAX_AGE_MS = 7 * 86_400_000
const HEALTH_MAX_AGE_MS = 5 * 60_000
const SKEW_MS = 60_000

interface Kept {
  schema: number
  at: number
  clientId: string
  pool?: Pool | undefined
  latency?: Record<string, number>
}

/** What outlives the page. Storage that is forbidden, full or broken costs only that. */
export class Store {
  /** Drawn once for each browser: the key of `host-dependent` for requests that bring none. */
  clientId: string
  pool: Pool | undefined
  readonly #latency: Record<string, number> = {}
  readonly #env: Env
  readonly #key: string | false

  constructor(env: Env, key: string | false, rules: UrlRules) {
    this.#env = env
    this.#key = key
    this.clientId = env.random().toString(36).slice(2) + env.wall().toString(36)
    const kept = this.#read()
    if (!kept) return
    if (typeof kept.clientId === 'string' && kept.clientId) this.clientId = kept.clientId.slice(0, 64)
    const age = env.wall() - kept.at
    // A time in the future means that a clock was wrong: nothing can be said of the age.
    if (kept.schema !== SCHEMA || !(age >= -SKEW_MS && age < POOL_MAX_AGE_MS)) return
    try {
      this.pool = parsePool(kept.pool, rules)
    } catch {
      return
    }
    if (age > HEALTH_MAX_AGE_MS || typeof kept.latency !== 'object' || kept.latency === null) return
    for (const [url, ms] of Object.entries(kept.latency))
      if (Number.isFinite(ms) && ms >= 1 && ms < 60_000) this.#latency[url] = ms
  }

  /** Gives gateways of which nothing is known yet what was known of them. */
  recall(registry: Registry): void {
    for (const health of registry.list) {
      if (Number.isNaN(health.latency) && Object.hasOwn(this.#latency, health.url))
        health.latency = this.#latency[health.url]!
    }
  }

  save(pool: Pool | undefined, registry: Registry): void {
    const latency: Record<string, number> = {}
    for (const health of registry.list)
      if (Number.isFinite(health.latency)) latency[health.url] = Math.round(health.latency)
    const all: Kept = { schema: SCHEMA, at: this.#env.wall(), clientId: this.clientId, pool, latency }
    for (const kept of [all, { ...all, latency: {} }, { ...all, latency: {}, pool: undefined }]) {
      const text = JSON.stringify(kept)
      if (text.length <= CHARACTERS_MAX) return this.#write(text)
    }
  }

  #read(): Kept | undefined {
    if (this.#key === false) return undefined
    try {
      const text = this.#env.storage()?.getItem(this.#key)
      if (!text || text.length > CHARACTERS_MAX) return undefined
      const kept: unknown = JSON.parse(text)
      return typeof kept === 'object' && kept !== null ? (kept as Kept) : undefined
    } catch {
      return undefined
    }
  }

  #write(text: string): void {
    if (this.#key === false) return
    try {
      this.#env.storage()?.setItem(this.#key, text)
    } catch {
      // It goes on in memory.
    }
  }
}
