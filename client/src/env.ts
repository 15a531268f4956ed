import type { Env } from './types.js'

/** The page's or server's own world. Globals are read when they are used, not on import. */
export function defaultEnv(): Env {
  return {
    now: () => performance.now(),
    wall: () => Date.now(),
    after(ms, run) {
      const timer = setTimeout(run, ms)
      return () => clearTimeout(timer)
    },
    random: () => Math.random(),
    fetch: (input, init) => globalThis.fetch(input, init),
    // Reading the property alone throws where storage is forbidden.
    storage: () => globalThis.localStorage,
    page: typeof document === 'undefined' ? undefined : { document, window },
    warn: (text) => console.warn(`glbp: ${text}`),
  }
}

/** A number from 1 - part to 1 + part times `ms`. */
export function jitter(env: Env, ms: number, part: number): number {
  return ms * (1 + part * (2 * env.random() - 1))
}
