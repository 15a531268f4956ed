import type { Method } from './choice.js'
import type { Core } from './glbp.js'
import type { Health, Registry } from './health.js'
import type { Env, LoadBalancing } from './types.js'

type Methods = { [name in LoadBalancing]?: Method | undefined }

const HELD_MAX = 1000
/** In localStorage; the same for whatever agents are followed. */
const CLIENT_KEY = 'glbp-client'

/** Ways to choose beside `weighted`; loaded when a group, or an option, asks for one. */
export function createMethods({ env, registry, options }: Pick<Core, 'env' | 'registry' | 'options'>): Methods {
  const hosts = hostDependent(registry, clientId(env, options.storageKey ?? false))
  const { loadBalancing = 'weighted' } = options
  const methods: Methods = {
    weighted: undefined, 'round-robin': roundRobin(), 'host-dependent': hosts, best, 'two-choices': twoChoices(env),
  }
  if (!Object.hasOwn(methods, loadBalancing))
    throw new TypeError(`glbp: options.loadBalancing: "${loadBalancing}" is not one of ${Object.keys(methods).join(', ')}`)
  // Without a prototype: a pool's word for it may be any.
  return Object.assign(Object.create(null), methods) as Methods
}

/** Drawn once for each browser: the key of requests that bring none. */
function clientId(env: Env, storageKey: string | false): string {
  const id = env.random().toString(36).slice(2) + env.wall().toString(36)
  if (storageKey === false) return id
  try {
    const kept = env.storage()?.getItem(CLIENT_KEY)
    if (kept && kept.length <= 64) return kept
    env.storage()?.setItem(CLIENT_KEY, id)
  } catch {
    // Without storage it lasts as long as the page.
  }
  return id
}

/** Who has the greatest score. */
const best: Method = (candidates, scores) => {
  let most = 0
  for (let k = 1; k < scores.length; k++) if (scores[k]! > scores[most]!) most = k
  return candidates[most]
}

/** The better one of two that are drawn. */
const twoChoices = (env: Env): Method => (candidates, scores) => {
  const count = candidates.length
  const one = Math.floor(env.random() * count)
  const other = (one + 1 + Math.floor(env.random() * (count - 1))) % count
  return candidates[scores[one]! >= scores[other]! ? one : other]
}

/** Smooth weighted round-robin: 5:1 is not five in a row. */
function roundRobin(): Method {
  let before: readonly Health[] = []
  /** Of each in `before`. */
  let credits: number[] = []
  return (candidates) => {
    if (candidates !== before) {
      credits = candidates.map((health) => credits[before.indexOf(health)] ?? 0)
      before = candidates
    }
    let total = 0
    let next = 0
    for (let k = 0; k < candidates.length; k++) {
      const weight = candidates[k]!.weight || 1
      total += weight
      credits[k]! += weight
      if (credits[k]! > credits[next]!) next = k
    }
    credits[next]! -= total
    return candidates[next]
  }
}

/** Weighted rendezvous over slots: a key keeps its slot, whoever forwards it, as long as there is one. */
function hostDependent(registry: Registry, clientId: string): Method {
  /** Slots held by keys, the latest taken last. */
  const held = new Map<string, number>()
  return (candidates, _, given) => {
    const key = given || clientId
    const own = held.get(key)
    const holder = registry.list.find(({ slots }) => slots.some(({ slot }) => slot === own))
    if (holder && !holder.lost) return holder
    let best: { slot: number; health: Health; order: number } | undefined
    for (const health of candidates) {
      for (const { slot, weight } of health.slots) {
        const share = weight || (health.weight ? 0 : 1)
        const order = -Math.log(hash(`${key} ${slot}`)) / share
        if (!best || order < best.order) best = { slot, health, order }
      }
    }
    // A detour while the holder is out of reach does not give its slot away.
    if (best && !holder) {
      held.set(key, best.slot)
      if (held.size > HELD_MAX) held.delete(held.keys().next().value!)
    }
    return best?.health
  }
}

/** FNV-1a with a finish that spreads the last character too, in (0, 1). */
function hash(text: string): number {
  let h = 0x811c9dc5
  for (let k = 0; k < text.length; k++) h = Math.imul(h ^ text.charCodeAt(k), 0x01000193)
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return (((h ^ (h >>> 16)) >>> 0) + 0.5) / 2 ** 32
}
