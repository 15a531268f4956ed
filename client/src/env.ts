import type { Env } from './types.js'

/** The page's or server's own world. Globals are read when they are used, not on import. */
export function defaultEnv(): Env {
  const { document, window } = globalThis
  return {
    now: () => performance.now(),
    wall: () => Date.now(),
    after(ms, run) {
      const timer = setTimeout(run, ms)
      return () => clearTimeout(timer)
    },
    random: () => Math.random(),
    // What others have put in its place may throw, where fetch itself rejects.
    fetch: async (...all) => fetch(...all),
    // Reading it alone throws where storage is forbidden.
    storage: () => localStorage,
    page: document && { document, window },
    warn: (text) => console.warn(`glbp: ${text}`),
  }
}
