import { bareUrl } from './url.js'

/** What a Request says beside its url, body and signal. */
const PARTS = [
  'method', 'headers', 'mode', 'credentials', 'cache', 'redirect', 'referrer', 'referrerPolicy', 'integrity', 'keepalive',
] as const

/**
 * Takes a Request apart, so that it can be sent to another url, and again.
 * @param over what takes the place of its own; nothing does where that is undefined.
 */
export async function unpack(request: Request, over: RequestInit): Promise<RequestInit> {
  const init = Object.fromEntries(PARTS.map((part) => [part, request[part]])) as RequestInit
  // A navigation cannot be sent by a script.
  if (init.mode === 'navigate') delete init.mode
  const given = Object.fromEntries(Object.entries(over).filter(([, value]) => value !== undefined)) as RequestInit
  const body = request.body !== null && (given.body ?? undefined) === undefined && (await request.arrayBuffer())
  return { ...init, ...given, ...(body && body.byteLength ? { body } : {}) }
}

/**
 * What of an absolute url is to be asked of a gateway.
 * @param gateways a url that begins with one of these, or with the page's origin, loses that part.
 * @throws TypeError for a url of anybody else.
 */
export function pathOf(target: string, gateways: readonly { url: string }[]): string {
  const own = globalThis.location?.origin
  const bases = [...gateways.map(({ url }) => url), ...(own ? [own] : [])]
  const base = bases.find((url) => `${target}/`.startsWith(`${url}/`))
  // Without the word that makes axios take it for an error of the network.
  if (base === undefined)
    throw new TypeError(`glbp: ${bareUrl(target)} is neither a path nor a url of a gateway (${bases.join(', ')}): give the path alone`)
  return target.slice(base.length)
}
