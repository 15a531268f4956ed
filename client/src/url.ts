/** What may stand in a pool, and what the page could not use anyway. */
export interface UrlRules {
  /** Origins; undefined: any. */
  allow?: readonly string[] | undefined
  /** Whether the page came over https, so that http is mixed content. */
  secure?: boolean | undefined
}

const LOOPBACK = /^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/

/** Whether `origin` is `rule`, or below the `*.` of it. */
function allowed(origin: string, rule: string): boolean {
  const star = rule.indexOf('*.')
  if (star < 0) return origin === rule.replace(/\/+$/, '').toLowerCase()
  const head = rule.slice(0, star)
  const tail = rule.slice(star + 1)
  return origin.length > head.length + tail.length && origin.startsWith(head) && origin.endsWith(tail)
}

/**
 * The url without a slash at its end.
 * @throws Error that says what is wrong with it.
 */
export function vetUrl(text: unknown, rules: UrlRules = {}): string {
  const shown = JSON.stringify(text)
  const refuse = (why: string): never => {
    throw new Error(`${shown} ${why}`)
  }
  if (typeof text !== 'string' || text.length > 2048) return refuse('is no url')
  if (/^[a-z]:[\\/]|^\\\\/i.test(text)) return refuse('is a path of Windows, not the url of a gateway')
  let url: URL
  try {
    url = new URL(text)
  } catch {
    return refuse('is no url: write http://host or https://host')
  }
  if (!/^https?:$/.test(url.protocol)) return refuse('is neither http nor https')
  if (url.username || url.password) throw new Error(`a url at ${url.host} carries credentials`)
  if (/[?#\\\s]/.test(text)) return refuse('has a query, a fragment, a backslash or a blank')
  if (rules.secure && url.protocol === 'http:' && !LOOPBACK.test(url.hostname))
    return refuse('is http on a page of https: browsers block mixed content')
  if (rules.allow && !rules.allow.some((rule) => allowed(url.origin, rule)))
    return refuse('is of an origin that `allow` does not name')
  return url.href.replace(/\/+$/, '')
}

/** `base` and a path that stays below it, whatever number of slashes it begins with. */
export function joinUrl(base: string, path: string): string {
  return /^[?#]/.test(path) || path === '' ? base + path : `${base}/${path.replace(/^[/\\]+/, '')}`
}

/** For errors and logs: no user info, no query, no fragment. */
export function bareUrl(url: string): string {
  return url.replace(/[?#].*$/s, '').replace(/\/\/[^/@]*@/, '//')
}
