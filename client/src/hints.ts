import type { Plan } from './request.js'
import type { Env } from './types.js'
import { within } from './time.js'
import { LOOPBACK } from './url.js'

const LOOK_AGAIN_MS = 60_000
const ANSWER_MS = 2000
/** ky waits 0.3 s before its first retry, and passes a Request. */
const KY_FROM_MS = 250
const KY_TO_MS = 450
const KEPT_MAX = 100

/** Words for the developer about what a browser does not tell. */
export class Hints {
  readonly #env: Env
  readonly #tell: (text: string) => void
  readonly #looked = new Map<string, number>()
  /** What was told of a url. */
  readonly found = new Map<string, string>()
  /** When the last failure of each request ended. */
  readonly #failures = new Map<string, number>()

  /** @param tell says a thing once. */
  constructor(env: Env, tell: (text: string) => void) {
    this.#env = env
    this.#tell = tell
  }

  /** A url that gives a network error: is it down, or is it CORS? Told once for each. */
  async unreadable(what: 'agent' | 'gateway', url: string): Promise<void> {
    const env = this.#env
    const { origin, protocol: own } = env.page?.window?.location ?? {}
    if (!origin || (this.#looked.get(url) ?? 0) > env.now()) return
    this.#looked.set(url, env.now() + LOOK_AGAIN_MS)
    const { origin: host, pathname, protocol } = new URL(url)
    if (protocol === 'http:' && own === 'https:' && !LOOPBACK.test(new URL(url).hostname))
      return this.#found(url, `${url} is http, which no page of https may ask (mixed content): give the agents an address of https`)
    try {
      await within(env, ANSWER_MS, (signal) =>
        env.fetch(url, { mode: 'no-cors', cache: 'no-store', credentials: 'omit', signal }))
    } catch {
      return
    }
    this.#found(url, `${host} is up, but does not let pages of ${origin} read it (CORS): ${what === 'agent'
      ? `add "${origin}" to http.cors in its gateway.json, or leave http.cors out`
      : `it has to send "Access-Control-Allow-Origin: ${origin}" with all answers, ${pathname} and errors too`}`)
  }

  #found(url: string, text: string): void {
    this.#looked.set(url, Infinity)
    this.found.set(url, text)
    this.#tell(text)
  }

  /** A request failed although others were tried: does a known layer above try again as well? Told once for each. */
  failed({ init, target }: Plan, startedAt: number, endedAt: number): void {
    const request = `${init.method} ${target}`
    const gap = startedAt - (this.#failures.get(request) ?? -Infinity)
    this.#failures.delete(request)
    this.#failures.set(request, endedAt)
    if (this.#failures.size > KEPT_MAX) this.#failures.delete(this.#failures.keys().next().value!)
    const layer = layerAbove(init, gap)
    if (layer) this.#tell(`${layer} sends a request again after all tries: set its retry to 0, or they multiply`)
  }
}

function layerAbove(init: RequestInit & { retry?: unknown }, gap: number): string | undefined {
  // ofetch hands its own options on, and counts `retry` down in them.
  if (typeof init.retry === 'number' && (init.retry > 0 || gap < KY_FROM_MS)) return 'ofetch'
  return 'integrity' in init && gap > KY_FROM_MS && gap < KY_TO_MS ? 'ky' : undefined
}
