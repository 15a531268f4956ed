import { DAY_MS } from './guard.js'
import { SHARE_MAX, whole } from './pool.js'
import type { GlbpOptions, StaticGateway } from './types.js'
import { vetUrl } from './url.js'

/** @throws TypeError that names the value, and says what it may be. */
export type Rule = (value: unknown, name: string) => unknown

export function wrong(name: string, value: unknown, why: string): never {
  throw new TypeError(`${name}: ${typeof value === 'string' ? JSON.stringify(value) : String(value)} ${why}`)
}

export const text: Rule = (value, name) => typeof value === 'string' || wrong(name, value, 'is no string')

const number = (least: number, most = DAY_MS): Rule => (value, name) =>
  (whole(value, most) && value >= least) || wrong(name, value, `is not a whole number from ${least} to ${most}`)

const word = (...words: string[]): Rule => (value, name) =>
  words.includes(value as string) || wrong(name, value, `is not one of ${words.join(', ')}`)

const list = (rule: Rule): Rule => (value, name) =>
  Array.isArray(value) ? value.forEach((item, k) => rule(item, `${name}[${k}]`)) : wrong(name, value, 'is no list')

/** What is undefined was left out. */
export const object = <T>(rules: { [K in keyof Required<T>]: Rule }): Rule => (value, name) => {
  if (Object(value) !== value || Array.isArray(value)) wrong(name, value, 'is no object')
  for (const [key, item] of Object.entries(value as object)) {
    if (!Object.hasOwn(rules, key)) wrong(`${name}.${key}`, item, `is not known there, as are ${Object.keys(rules).join(', ')}`)
    if (item !== undefined) rules[key as keyof T](item, `${name}.${key}`)
  }
}

const url: Rule = (value, name) => {
  try {
    vetUrl(value)
  } catch (error) {
    throw new TypeError(`${name}: ${(error as Error).message}`)
  }
}

const gateway = object<StaticGateway>({ url, weight: number(0, SHARE_MAX) })

export const agents = list(url)
export const gateways = list((value, name) => {
  if (typeof value === 'string') return url(value, name)
  gateway(value, name)
  url((value as StaticGateway).url, `${name}.url`)
})

/**
 * What `guardOptions` leaves to the time at which an option is used.
 * @throws TypeError that says which option is wrong, and what it may be.
 */
export function checkOptions(options: GlbpOptions): void {
  const any: Rule = () => true
  object<GlbpOptions>({
    agents,
    gateways,
    allow: list((value, name) => /^https?:\/\/(\*\.)?[\w.:[\]-]+\/?$/i.test(String(value))
      || wrong(name, value, 'is neither https://host nor https://*.host')),
    loadBalancing: word('weighted', 'round-robin', 'host-dependent', 'best', 'two-choices'),
    follow: word('poll', 'long-poll', 'events'),
    probe: object<NonNullable<GlbpOptions['probe']>>({
      path: text,
      intervalMs: number(100),
      timeoutMs: number(1),
      expect: list(number(100, 599)),
      method: word('HEAD', 'GET', 'OPTIONS'),
    }),
    tries: number(1, 100),
    tryTimeout: number(1),
    timeout: number(1),
    // A page must not fail by what a server has handed to it: a bad one is left aside when it is read.
    snapshot: any,
    storageKey: (value, name) => value === false || text(value, name),
    env: any,
  })(options, 'options')
}
