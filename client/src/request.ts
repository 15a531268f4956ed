import type { GlbpInit } from './types.js'
import { joinUrl } from './url.js'

/** A request that can be sent to any gateway, if need be again. */
export interface Plan {
  path: string
  init: RequestInit
  signal: AbortSignal | undefined
  key: string | undefined
  /** Whether it may be sent a second time. */
  again: boolean
  /** Whether a second one may run beside it. */
  beside: boolean
}

const IDEMPOTENT = /^(GET|HEAD|OPTIONS|PUT|DELETE)$/

/**
 * Takes fetch's arguments apart.
 * @param gateways a url that begins with one of these loses that part.
 * @throws TypeError for an absolute url of anybody else.
 */
export async function plan(input: RequestInfo | URL, init: GlbpInit, gateways: readonly string[]): Promise<Plan> {
  const { glbp, ...rest } = init
  const request = typeof input === 'object' && 'clone' in input ? input : undefined
  const signal = rest.signal ?? request?.signal
  const plain: RequestInit = request ? { ...(await unpack(request)), ...rest } : rest
  delete plain.signal
  const method = (plain.method ?? 'GET').toUpperCase()
  const keyed = new Headers(plain.headers).has('Idempotency-Key')
  const idempotent = IDEMPOTENT.test(method)
  // A stream is gone once it was read.
  const replayable = !(typeof plain.body === 'object' && plain.body !== null && 'getReader' in plain.body)
  return {
    path: pathOf(request ? request.url : String(input), gateways),
    init: { ...plain, method },
    signal: signal ?? undefined,
    key: glbp?.key,
    again: replayable && (glbp?.retry ?? (idempotent || keyed)),
    beside: replayable && idempotent && glbp?.retry !== false,
  }
}

async function unpack(request: Request): Promise<RequestInit> {
  const { method, headers, credentials, mode, cache, redirect, referrer, referrerPolicy, integrity, keepalive } = request
  const body = request.body === null || /^(GET|HEAD)$/.test(method) ? undefined : await request.arrayBuffer()
  return { method, headers, credentials, cache, redirect, referrer, referrerPolicy, integrity, keepalive,
    ...(mode === 'navigate' ? {} : { mode }), ...(body?.byteLength ? { body } : {}) }
}

/** The part of a url that every gateway knows. */
function pathOf(text: string, gateways: readonly string[]): string {
  if (!/^([a-z][a-z0-9+.-]*:|\/\/)/i.test(text)) return text
  const base = gateways.find((url) => text === url || text.startsWith(joinUrl(url, '/')))
  if (base !== undefined) return text.slice(base.length)
  const own = (globalThis as { location?: Location }).location?.origin
  if (own && text.startsWith(`${own}/`)) return text.slice(own.length)
  throw new TypeError(`${text}: glbp.fetch takes a path, such as /api/orders; the gateway is chosen for each request`)
}
