/** What a Request says beside its url, body and signal. */
const PARTS = [
  'method', 'headers', 'mode', 'credentials', 'cache', 'redirect', 'referrer', 'referrerPolicy', 'integrity', 'keepalive',
] as const

/** Takes a Request apart, so that it can be sent to another url, and again. */
export async function unpack(request: Request): Promise<RequestInit> {
  const init = Object.fromEntries(PARTS.map((part) => [part, request[part]])) as RequestInit
  // A navigation cannot be sent by a script.
  if (init.mode === 'navigate') delete init.mode
  const body = request.body !== null && (await request.arrayBuffer())
  return body && body.byteLength ? { ...init, body } : init
}
