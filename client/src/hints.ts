import type { Plan } from './request.js'
import type { Env } from './types.js'
import { bareUrl } from './url.js'

const LOOK_AGAIN_MS = 60_000
const ANSWER_MS = 2000
/** ky waits 0.3 s before its first retry, and passes a Request. */
const KY_FROM_MS = 250
const KY_TO_MS = 450
const KEPT_MAX = 100

/** Words for the developer about what a browser does not tell. */
export class Hints {
  readonly #env: Env
  readonly #looked = new Map<string, number>()
  /** When the last failure of each request ended. */
  readonly #failures = new Map<string, number>()
  readonly #told = new Set<string>()

  constructor(env: Env) {
    this.#env = env
  }

  /** A url that gives a network error: is it down, or is it CORS? Told once for each. */
  async unreadable(what: 'agent' | 'gateway', url: string): Promise<void> {
    const env = this.#env
    const origin = env.page?.window?.location?.origin
    if (!origin || (this.#looked.get(url) ?? 0) > env.now()) return
    this.#looked.set(url, env.now() + LOOK_AGAIN_MS)
    const late = new AbortController()
    const cancel = env.after(ANSWER_MS, () => late.abort())
    try {
      await env.fetch(url, { mode: 'no-cors', cache: 'no-store', credentials: 'omit', signal: late.signal })
    } catch {
      return
    } finally {
      cancel()
    }
    this.#looked.set(url, Infinity)
    const host = new URL(url).origin
    env.warn(what === 'agent'
      ? `${host} is up, but does not let pages of ${origin} read its pool (CORS): add "${origin}" to http.cors in the `
        + 'gateway.json of that agent, or remove http.cors, which lets every origin read'
      : `${host} is up, but does not let pages of ${origin} read its answers (CORS): let the gateway send `
        + `"Access-Control-Allow-Origin: ${origin}" with every answer, that of ${new URL(url).pathname} and errors too`)
  }

  /** A request failed although others were tried: does a known layer above try again as well? Told once for each. */
  failed({ init, path }: Plan, startedAt: number, endedAt: number): void {
    const request = `${init.method} ${path}`
    const gap = startedAt - (this.#failures.get(request) ?? -Infinity)
    this.#failures.delete(request)
    this.#failures.set(request, endedAt)
    if (this.#failures.size > KEPT_MAX) this.#failures.delete(this.#failures.keys().next().value!)
    const layer = layerAbove(init, gap)
    if (!layer || this.#told.has(layer)) return
    this.#told.add(layer)
    this.#env.warn(`${layer} sends ${init.method} ${bareUrl(path)} again after it has failed at several gateways: set its `
      + '`retry` to 0, or the tries of both multiply')
  }
}

function layerAbove(init: RequestInit & { retry?: unknown }, gap: number): string | undefined {
  // ofetch hands its own options on, and counts `retry` down in them.
  if (typeof init.retry === 'number' && (init.retry > 0 || gap < KY_FROM_MS)) return 'ofetch'
  return 'integrity' in init && gap > KY_FROM_MS && gap < KY_TO_MS ? 'ky' : undefined
}
