import { whole } from './pool.js'

/** What is longer may, with jitter and pace, be more than a timer takes: that would end at once. */
export const DAY_MS = 86_400_000

const NAMES = /^(agents|gateways|allow|tries|tryTimeout|timeout|loadBalancing|follow|probe|snapshot|storageKey|env)$/
const LISTS = /^[ag]/
const NUMBERS = /^t/

/**
 * Looks at what a request depends on. The rest is left to `checkOptions`, when it is first used.
 * @throws TypeError that says which option is wrong, and what it may be.
 */
export function guardOptions(options: object): void {
  for (const [name, value] of Object.entries(options)) {
    const right =
      !NAMES.test(name) ? NAMES
      : LISTS.test(name) ? !Array.isArray(value) && 'a list'
      : NUMBERS.test(name) && !(whole(value, DAY_MS) && value) && `1 to ${DAY_MS}`
    if (right && value !== undefined) throw new TypeError(`glbp: options.${name}: ${String(value)} is not ${right}`)
  }
}
