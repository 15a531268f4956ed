import type { Pool, PoolGateway, StaticGateway } from './types.js'
import { vetUrl, type UrlRules } from './url.js'

const ENTRIES_MAX = 1024
const SHARE_MAX = 65_535

const isWhole = (value: unknown, max = Number.MAX_SAFE_INTEGER): value is number =>
  Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= max
const text = (value: unknown): string => (typeof value === 'string' ? value.slice(0, 63) : '')
const within = (value: unknown, low: number, high: number, otherwise: number): number =>
  isWhole(value) ? Math.min(Math.max(value, low), high) : otherwise

type Fields = Record<string, unknown>

function parseGateway(entry: Fields, rules: UrlRules): PoolGateway {
  const url = vetUrl(entry['url'], rules)
  if (!isWhole(entry['slot'], 65_535)) throw new Error(`${url}: its slot is no number of a slot`)
  if (!isWhole(entry['weight'], SHARE_MAX)) throw new Error(`${url}: its weight is not 0..${SHARE_MAX}`)
  const state = text(entry['state']) || 'active'
  return {
    slot: entry['slot'],
    id: text(entry['id']),
    owner: text(entry['owner']),
    url,
    weight: entry['weight'],
    alive: entry['alive'] !== false && state !== 'down',
    latency: isWhole(entry['latency']) ? entry['latency'] : null,
    state,
  }
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
  if (typeof value !== 'object' || value === null) throw new Error('the pool is no JSON object')
  const from = value as Fields
  const { term, version } = from
  if (!isWhole(term) || !isWhole(version)) throw new Error('the pool has no stamp')
  const gateways = sift(from['gateways'], dropped, (entry) =>
    parseGateway((typeof entry === 'object' && entry ? entry : {}) as Fields, rules))
  if (!gateways.length) throw new Error(`the pool names no usable gateway${dropped.length ? `: ${dropped[0]}` : ''}`)
  return {
    group: text(from['group']),
    id: within(from['id'], 0, 1023, 0),
    term,
    avg: text(from['avg']),
    version,
    standby: text(from['standby']),
    load_balancing: text(from['load_balancing']),
    members: within(from['members'], 0, ENTRIES_MAX, 0),
    majority: from['majority'] === true,
    lone: from['lone'] === true,
    degraded: from['degraded'] === true,
    refresh_ms: within(from['refresh_ms'], 500, 600_000, 5000),
    hold_ms: within(from['hold_ms'], 150, 600_000, 3500),
    gateways,
    agents: sift(from['agents'], dropped, (url) => vetUrl(url, rules)),
  }
}

/** A pool of the static list: its stamp is below every agent's. */
export function staticPool(list: readonly (string | StaticGateway)[]): Pool {
  const gateways = list.map((entry, k) => {
    const { url, weight = 100 } = typeof entry === 'string' ? { url: entry } : entry
    return { slot: k + 1, id: '', owner: '', url, weight, alive: true, latency: null, state: 'active' }
  })
  const head = { group: '', term: 0, avg: '', version: 0 }
  const dropped: string[] = []
  const pool = parsePool({ ...head, gateways }, {}, dropped)
  if (dropped.length) throw new Error(`glbp: gateways: ${dropped[0]}`)
  return pool
}

/** Orders stamps: below 0 when `a` is the older one. */
export function compareStamps(a: Pool, b: Pool): number {
  const name = a.avg < b.avg ? -1 : a.avg > b.avg ? 1 : 0
  return a.term - b.term || name || a.version - b.version
}

/** Orders tables served at one time (protocol, section 8): majority, not lone, stamp. */
export function preferPool(a: Pool, b: Pool): number {
  return Number(a.majority) - Number(b.majority) || Number(b.lone) - Number(a.lone) || compareStamps(a, b)
}
