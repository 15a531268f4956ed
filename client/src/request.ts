import type { GlbpInit } from './types.js'
import { bareUrl } from './url.js'

/** A request that can be sent to any gateway, if need be again. */
export interface Plan {
  path: string
  init: RequestInit
  signal: AbortSignal | undefined
  key: string
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
  const { glbp, signal, ...rest } = init
  const request = typeof input === 'object' && 'clone' in input ? input : undefined
  const plain: RequestInit = { ...(request && (await (await import('./unpack.js')).unpack(request))), ...rest }
  const method = (plain.method ??= 'GET').toUpperCase()
  const idempotent = IDEMPOTENT.test(method)
  const keyed = new Headers(plain.headers).has('Idempotency-Key')
  // A stream is gone once it was read.
  const replayable = !(plain.body as ReadableStream | undefined)?.getReader
  return {
    path: pathOf(request ? request.url : String(input), gateways),
    init: { ...plain, method },
    signal: signal ?? request?.signal,
    key: glbp?.key ?? '',
    again: replayable && (glbp?.retry ?? (idempotent || keyed)),
    beside: replayable && idempotent && glbp?.retry !== false,
  }
}

/** The part of a url that every gateway knows. */
function pathOf(text: string, gateways: readonly string[]): string {
  if (!/^([\w+.-]+:|\/\/)/.test(text)) return text
  const base = [...gateways, globalThis.location?.origin].find((url) => url && `${text}/`.startsWith(`${url}/`))
  if (base === undefined) throw new TypeError(`${bareUrl(text)}: glbp.fetch takes a path`)
  return text.slice(base.length)
}
