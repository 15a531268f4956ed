import type { Pool, PoolGateway, StaticGateway } from './types.js'
import { vetUrl, type UrlRules } from './url.js'

const ENTRIES_MAX = 1024
export const SHARE_MAX = 65_535

type Fields = Record<string, unknown>

export const whole = (value: unknown, max = Number.MAX_SAFE_INTEGER): value is number =>
  Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= max
const number = (value: unknown) => (whole(value) ? value : 0)
const text = (value: unknown) => (typeof value === 'string' ? value : '')
const yes = (value: unknown) => value === true

/** Takes what came from outside for a T, field by field, in the order of `fields`. */
function read<T>(from: Fields, fields: { [K in keyof T]: (value: unknown) => T[K] }): T {
  const result: Fields = {}
  for (const name in fields) result[name] = fields[name](from[name])
  return result as T
}

/** Parses what can be parsed; the others' reasons go to `dropped`. */
function sift<T>(list: unknown, dropped: string[], parse: (item: unknown) => T): T[] {
  const kept: T[] = []
  for (const item of Array.isArray(list) ? list.slice(0, ENTRIES_MAX) : []) {
    try {
      kept.push(parse(item))
    } catch (error) {
      dropped.push((error as Error).message)
    }
  }
  return kept
}

/**
 * Takes what came from outside for a pool.
 * @param dropped gets one line for each entry that was left out.
 * @throws Error when nothing usable is left: such an answer must not empty a pool.
 */
export function parsePool(value: unknown, rules: UrlRules, dropped: string[] = []): Pool {
  const url = (one: unknown) => vetUrl(one, rules)
  const stamp = (one: unknown): number => {
    if (!whole(one)) throw new Error('the pool has no stamp')
    return one
  }
  const gateway = (entry: Fields | null): PoolGateway => {
    const { slot, weight, state, alive } = entry ?? {}
    if (!whole(slot, SHARE_MAX) || !whole(weight, SHARE_MAX))
      throw new Error(`slot ${slot}, weight ${weight}: not both 0 to ${SHARE_MAX}`)
    return read<PoolGateway>(entry!, {
      slot: () => slot,
      id: text,
      owner: text,
      url,
      weight: () => weight,
      alive: () => alive !== false && state !== 'down',
      latency: (ms) => (whole(ms) ? ms : null),
      state: (one) => text(one) || 'active',
    })
  }
  const pool = read<Pool>((value ?? {}) as Fields, {
    group: text,
    id: number,
    term: stamp,
    avg: text,
    version: stamp,
    standby: text,
    load_balancing: text,
    members: number,
    majority: yes,
    lone: yes,
    degraded: yes,
    refresh_ms: number,
    hold_ms: number,
    gateways: (list) => sift(list, dropped, gateway as (entry: unknown) => PoolGateway),
    agents: (list) => sift(list, dropped, url),
  })
  if (!pool.gateways.length) throw new Error(`the pool has no usable gateway: ${dropped}`)
  return pool
}

/**
 * A pool of the static list, if that names any: its stamp is below every agent's.
 * @throws TypeError that says what is wrong with the list, or with the agents' urls.
 */
export function staticPool(list: readonly (string | StaticGateway)[], agents: readonly string[]): Pool | undefined {
  const dropped: string[] = []
  sift(agents, dropped, (agent) => vetUrl(agent))
  const gateways = list.map((entry, k) => ({ slot: k + 1, weight: 100, ...(typeof entry === 'string' ? { url: entry } : entry) }))
  const [pool] = sift(list.length ? [gateways] : [], dropped, () => parsePool({ term: 0, version: 0, gateways }, {}, dropped))
  if (dropped.length) throw new TypeError(`glbp: agents, gateways: ${dropped.join('; ')}`)
  return pool
}
