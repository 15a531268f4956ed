import type { Env } from './types.js'

/** What a page goes through, as far as it matters here. */
export interface PageEvents {
  hidden(): void
  /** Seen again, thawed, or back from the cache of the browser's history. */
  shown(): void
  online(): void
  offline(): void
  leaving(): void
}

/** @returns what takes all listeners away again. */
export function watchPage(page: Env['page'], on: PageEvents): () => void {
  const taken: (() => void)[] = []
  const listen = (target: EventTarget | undefined, type: string, run: (event: Event) => void) => {
    target?.addEventListener(type, run)
    taken.push(() => target?.removeEventListener(type, run))
  }
  const { document, window } = page ?? {}
  listen(document, 'visibilitychange', () => (document?.visibilityState === 'hidden' ? on.hidden() : on.shown()))
  listen(document, 'freeze', () => on.hidden())
  listen(document, 'resume', () => on.shown())
  listen(window, 'pagehide', () => on.leaving())
  listen(window, 'pageshow', (event) => (event as PageTransitionEvent).persisted && on.shown())
  listen(window, 'online', () => on.online())
  listen(window, 'offline', () => on.offline())
  return () => taken.splice(0).forEach((take) => take())
}
