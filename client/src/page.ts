import type { Env } from './types.js'

/** What a page goes through, as far as it matters here. */
export interface PageEvents {
  /** Not seen, frozen, or on its way into the cache of the browser's history. */
  hidden(): unknown
  /** Seen again. */
  shown(): void
  online(): void
  offline(): void
}

/** @returns what takes all listeners away again. */
export function watchPage(page: Env['page'], on: PageEvents): () => void {
  const { document, window } = page ?? {}
  const look = () => (document?.visibilityState === 'hidden' ? on.hidden() : on.shown())
  const listeners: [EventTarget | undefined, string, () => void][] = [
    [document, 'visibilitychange', look],
    [document, 'freeze', () => on.hidden()],
    [document, 'resume', look],
    [window, 'pagehide', () => on.hidden()],
    [window, 'pageshow', look],
    [window, 'online', () => on.online()],
    [window, 'offline', () => on.offline()],
  ]
  for (const [target, type, run] of listeners) target?.addEventListener(type, run)
  return () => {
    for (const [target, type, run] of listeners) target?.removeEventListener(type, run)
  }
}
