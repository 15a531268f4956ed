/** What may stand in a pool, and what the page could not use anyway. */
export interface UrlRules {
  /** Origins; undefined: any. */
  allow?: readonly string[] | undefined
  /** Whether the page came over https, so that http is mixed content. */
  secure?: boolean | undefined
}

/** Hosts to which browsers let any page go over http. */
export const LOOPBACK = /^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/

const cut = (url: string) => url.replace(/\/+$/, '')

/** Whether `origin` is `rule`, or below the `*.` of it. */
function allowed(origin: string, rule: string): boolean {
  // Without a star the whole is both its begin and its end.
  const [head = '', tail = head] = cut(rule).toLowerCase().split('*')
  return origin.startsWith(head) && origin.endsWith(tail)
}

/**
 * The url without a slash at its end.
 * @throws Error that says what is wrong with it.
 */
export function vetUrl(value: unknown, { allow, secure }: UrlRules = {}): string {
  const text = String(value)
  let url: URL | undefined
  try {
    url = new URL(text)
  } catch {
    // Told below.
  }
  const { protocol, hostname, origin } = url ?? {}
  const why =
    /^([a-z]:|\\)[\\/]/i.test(text) ? 'is a path of Windows, not a url'
    : !url ? 'is no url: write https://host'
    : !/^https?:$/.test(protocol!) ? 'is neither http nor https'
    : url.username || url.password ? 'carries credentials'
    : /[?#\\\s]/.test(text) ? 'has a query, fragment, backslash or blank'
    : secure && protocol === 'http:' && !LOOPBACK.test(hostname!) ? 'is http on a page of https (mixed content)'
    : allow && !allow.some((rule) => allowed(origin!, rule)) ? 'is not in `allow`'
    : ''
  if (why) throw new Error(`${JSON.stringify(text).replace(/\/\/.*@/, '//')} ${why}`)
  return cut(url!.href)
}

/** `base` and a path that stays below it, whatever number of slashes it begins with. */
export function joinUrl(base: string, path: string): string {
  return /^([?#]|$)/.test(path) ? base + path : `${base}/${path.replace(/^[/\\]+/, '')}`
}

/** For errors and logs: no user info, no query, no fragment. */
export function bareUrl(url: string): string {
  return url.replace(/[?#].*$/s, '').replace(/\/\/[^/@]*@/, '//')
}
