import type { Plan } from './request.js'
import type { Env } from './types.js'
import { bareUrl } from './url.js'

const LOOK_AGAIN_MS = 60_000
const ANSWER_MS = 2000
/** How soon another layer's retry follows: ky waits 300 ms and 600 ms, ofetch and axios-retry not at all. */
const RETRY_MS = 1000
const RETRIES_TO_TELL = 2

/** Words for the developer about what a browser does not tell. */
export class Hints {
  readonly #env: Env
  readonly #looked = new Map<string, number>()
  /** When the last failure of each request ended. */
  readonly #failures = new Map<string, number>()
  #retries = 0

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

  /** A request failed although others were tried: is somebody retrying above? */
  failed({ init, path }: Plan, startedAt: number, endedAt: number): void {
    const request = `${init.method} ${path}`
    const before = this.#failures.get(request) ?? -Infinity
    this.#failures.delete(request)
    this.#failures.set(request, endedAt)
    if (this.#failures.size > 100) this.#failures.delete(this.#failures.keys().next().value!)
    if (startedAt - before > RETRY_MS || ++this.#retries !== RETRIES_TO_TELL) return
    this.#env.warn(`${init.method} ${bareUrl(path)} is sent again right after it had failed at every gateway: if axios-retry, `
      + 'ky (retry: 0) or ofetch (retry: false) retries above the client, switch that off: together they multiply')
  }
}
