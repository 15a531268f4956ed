import { Readable } from 'node:stream'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { createGlbp, GlbpError, type Glbp, type GlbpOptions } from '../src/index.js'
import { retryAfter } from '../src/exchange.js'
import { cluster, fakePage, pool, World } from './world.js'

let glbp: Glbp | undefined
afterEach(() => {
  glbp?.stop()
  vi.useRealTimers()
})

/** A client with a pool that neither polls nor probes, unless it is started. */
function client(world: World, more: Partial<GlbpOptions> = {}, from = pool()) {
  cluster(world, () => from, from.gateways.length)
  return (glbp = createGlbp(world.options({ snapshot: { pool: from, at: 0 }, ...more })))
}
const all = (world: World, answer: Parameters<World['hosts']['set']>[1], count = 3) => {
  for (let k = 1; k <= count; k++) world.hosts.set(`http://g${k}`, answer)
}
/** Runs the clock until it is settled. */
async function settle<T>(world: World, promise: Promise<T>, ms = 20_000): Promise<T> {
  promise.catch(() => undefined)
  await world.pass(ms)
  return promise
}
const sent = (world: World, path = /^\/api/) => world.calls.filter((call) => path.test(call.path))

describe('a request', () => {
  it('goes to a gateway with its path, method, body and headers', async () => {
    const world = new World()
    const answer = await settle(world, client(world).fetch('/api/x?a=1', { headers: { A: 'b' } }))
    expect(await answer.text()).toMatch(/^g\d$/)
    expect(sent(world)).toHaveLength(1)
    expect(sent(world)[0]).toMatchObject({ path: '/api/x?a=1', method: 'GET' })
  })
  it('takes a Request and urls of gateways, and refuses those of others', async () => {
    const world = new World()
    const body = JSON.stringify({ a: 1 })
    const request = new Request('http://g1/api/y', { method: 'PUT', body, headers: { 'X-A': '1' } })
    await settle(world, client(world).fetch(request))
    const { init, method, path } = sent(world)[0]!
    expect([method, path, new Headers(init.headers).get('X-A')]).toEqual(['PUT', '/api/y', '1'])
    expect(new TextDecoder().decode(init.body as ArrayBuffer)).toBe(body)
    await expect(glbp!.fetch('https://elsewhere.example/x')).rejects.toThrow(/neither a path nor a url of a gateway/)
    await expect(glbp!.fetch('//elsewhere.example/x')).rejects.toThrow(/neither a path nor a url of a gateway/)
    await expect(glbp!.fetch('http://g1.evil.example/x')).rejects.toThrow(/neither a path nor a url of a gateway/)
  })
  it('takes what is said beside a Request in the place of its own, and undefined for nothing said', async () => {
    const world = new World()
    const put = () => new Request('http://g1/api', { method: 'PUT', body: 'own', headers: { A: 'own' } })
    const said = async (init: RequestInit) => {
      await settle(world, client(world).fetch(put(), init))
      const { method, init: { headers, body } } = sent(world).at(-1)!
      return [method, new Headers(headers).get('A'), await new Response(body).text()]
    }
    const nothing = { method: undefined, headers: undefined, body: undefined } as unknown as RequestInit
    expect(await said(nothing)).toEqual(['PUT', 'own', 'own'])
    expect(await said({ body: null })).toEqual(['PUT', 'own', 'own'])
    expect(await said({ method: 'POST', headers: { A: 'b' }, body: 'c' })).toEqual(['POST', 'b', 'c'])
  })
  it('has the headers that it was given, whatever becomes of them', async () => {
    const world = new World()
    const glbp = client(world)
    const headers = new Headers()
    const calls = ['1', '2', '3'].map((id) => {
      headers.set('X-Id', id)
      return glbp.fetch('/api', { headers })
    })
    await settle(world, Promise.all(calls))
    expect(sent(world).map(({ init }) => new Headers(init.headers).get('X-Id')).sort()).toEqual(['1', '2', '3'])
  })
  it.each([
    ['FormData', () => new FormData()], ['URLSearchParams', () => new URLSearchParams('a=1')], ['a string', () => 'a'],
    ['a typed Blob', () => new Blob(['a'], { type: 'text/x' })], ['bytes', () => new Uint8Array(1)],
  ])('leaves the type of %s to fetch', async (_, body) => {
    const world = new World()
    await settle(world, client(world).fetch('/api', { method: 'POST', body: body() }))
    expect([...new Headers(sent(world)[0]!.init.headers)]).toEqual([])
  })
  it('of an absolute url that comes before the first pool waits for it', async () => {
    const world = new World()
    const from = pool()
    cluster(world, () => from)
    glbp = createGlbp(world.options())
    const before = glbp.fetch('http://g1/api/x')
    await expect(settle(world, before, 10)).rejects.toThrow(/no pool yet: start\(\) was not called/)
    glbp.start()
    const own = glbp.fetch('http://g2/api/y?a=1')
    const strange = glbp.fetch('https://elsewhere.example/x')
    strange.catch(() => undefined)
    await vi.dynamicImportSettled()
    expect((await settle(world, own, 500)).status).toBe(200)
    expect(sent(world).map(({ path }) => path)).toEqual(['/api/y?a=1'])
    await expect(strange).rejects.toThrow(/elsewhere.*neither a path nor a url of a gateway \(http:\/\/g1, http:\/\/g2/)
  })
  it.each([
    ['a GET with a body', { body: 'x' }], ['a HEAD with a body', { method: 'HEAD', body: new Uint8Array(1) }],
    ['an empty body of GET', { body: '' }], ['a forbidden method', { method: 'TRACE' }],
    ['a header of two lines', { headers: { A: 'b\nc' } }], ['a mode that is none', { mode: 'same' }],
    ['a stream without duplex', { method: 'PUT', body: new ReadableStream() }], ['a signal that is none', { signal: {} }],
  ])('that is a mistake of the caller is thrown at once, and held against nobody: %s', async (_, init) => {
    const world = new World()
    const glbp = client(world)
    const failed = vi.fn()
    for (const type of ['failover', 'change', 'degraded'] as const) glbp.on(type, failed)
    await expect(glbp.fetch('/api', init as RequestInit)).rejects.toThrow(TypeError)
    expect(sent(world)).toEqual([])
    expect(failed).not.toHaveBeenCalled()
    expect(glbp.gateways.every((one) => one.successRate === 1 && one.inFlight === 0 && one.alive)).toBe(true)
    expect([vi.getTimerCount(), world.listeners]).toEqual([0, 0])
  })
  it('spreads over the gateways', async () => {
    const world = new World()
    const glbp = client(world)
    await settle(world, Promise.all(Array.from({ length: 60 }, () => glbp.fetch('/api'))))
    for (let k = 1; k <= 3; k++) expect(world.count(`http://g${k}`)).toBeGreaterThan(10)
  })
})

describe.each([['down', 'down'], ['502', { status: 502 }], ['503', { status: 503 }], ['504', { status: 504 }],
  ['429', { status: 429 }], ['stalled', 'stall']] as const)('with gateways %s', (_, answer) => {
  it('one of three that serves is enough for every request', async () => {
    const world = new World()
    const glbp = client(world)
    all(world, answer)
    world.hosts.set('http://g2', { body: 'g2' })
    for (let k = 0; k < 20; k++) {
      const response = await settle(world, glbp.fetch('/api'), 5000)
      expect(response.status).toBe(200)
    }
    const first = sent(world).filter(({ at }) => at === sent(world)[0]!.at)
    expect(first.length).toBeLessThanOrEqual(3)
  })
  it('a POST arrives exactly once', async () => {
    const world = new World()
    const glbp = client(world)
    all(world, answer)
    await settle(world, glbp.fetch('/api', { method: 'POST', body: 'x' }).catch(() => undefined), 60_000)
    expect(sent(world)).toHaveLength(1)
  })
})

describe('what may be sent again', () => {
  it.each([
    ['GET', {}, 3], ['HEAD', { method: 'HEAD' }, 3], ['PUT', { method: 'PUT', body: 'x' }, 3],
    ['DELETE', { method: 'delete' }, 3], ['POST', { method: 'POST' }, 1], ['PATCH', { method: 'PATCH' }, 1],
    ['POST with a key', { method: 'POST', headers: { 'idempotency-key': '1' } }, 3],
    ['POST by opt-in', { method: 'POST', glbp: { retry: true } }, 3], ['GET opted out', { glbp: { retry: false } }, 1],
    ['PUT of a stream', { method: 'PUT', body: new ReadableStream(), duplex: 'half' }, 1],
    ['PUT of what Node takes for a stream', { method: 'PUT', body: Readable.from(['a']), duplex: 'half' }, 1],
  ])('%s', async (_, init, times) => {
    const world = new World()
    const glbp = client(world)
    all(world, 'down')
    await expect(settle(world, glbp.fetch('/api', init as RequestInit))).rejects.toThrow(GlbpError)
    expect(sent(world)).toHaveLength(times)
    expect(new Set(sent(world).map(({ origin }) => origin)).size).toBe(times)
  })
  it('other statuses are answers', async () => {
    for (const status of [400, 401, 404, 408, 409, 500, 501]) {
      const world = new World()
      const glbp = client(world)
      all(world, { status })
      expect((await settle(world, glbp.fetch('/api'))).status).toBe(status)
      expect(sent(world)).toHaveLength(1)
    }
  })
  it('a single gateway is tried again', async () => {
    const world = new World()
    const glbp = client(world, {}, pool({ weights: [100] }))
    let calls = 0
    world.hosts.set('http://g1', () => (++calls < 3 ? 'down' : { body: 'at last' }))
    expect(await (await settle(world, glbp.fetch('/api'))).text()).toBe('at last')
  })
  it('an answer of failure is handed over when nobody has a better one', async () => {
    const world = new World()
    const glbp = client(world)
    all(world, { status: 503, body: 'sorry' })
    const response = await settle(world, glbp.fetch('/api'))
    expect([response.status, await response.text()]).toEqual([503, 'sorry'])
  })
})

describe('without a pool', () => {
  /** Three agents that give none, and what a request says of it. */
  async function told(world: World, more: Partial<GlbpOptions> = {}): Promise<string> {
    glbp = createGlbp(world.options(more))
    glbp.start()
    await vi.dynamicImportSettled()
    const error: unknown = await settle(world, glbp.fetch('/api')).catch((e: unknown) => e)
    expect(error).toBeInstanceOf(GlbpError)
    expect((error as GlbpError).attempts).toEqual([])
    return (error as Error).message
  }
  it('it says of each agent why', async () => {
    const world = new World()
    world.hosts.set('http://a1', 'down').set('http://a2', 'stall')
    world.hosts.set('http://a3', { status: 404, body: { error: 'this agent serves no such group' } })
    const text = await told(world)
    expect(text).toMatch(/^GET \/api: no agent gave a pool: /)
    expect(text).toContain('http://a1/pool/web: Failed to fetch')
    expect(text).toContain('http://a2/pool/web: no answer in 2 s')
    expect(text).toMatch(/a3\/pool\/web: it answered 404 \(this agent serves no such group\): is this the address of an agent, .*group/)
  })
  it.each([
    ['a page in its place', { body: '<!doctype html>' }, /a1\/pool\/web: its answer is no JSON: is this the address/],
    ['no table yet', { status: 503, body: { error: 'no table yet' } }, /a1\/pool\/web: it answered 503 \(no table yet\);/],
    ['nobody in it', { body: { ...pool(), gateways: [] } }, /a1\/pool\/web: the pool has no usable gateway/],
  ])('%s is told as that', async (_, answer, text) => {
    const world = new World()
    for (let k = 1; k <= 3; k++) world.hosts.set(`http://a${k}`, answer)
    expect(await told(world)).toMatch(text)
  })
  it('CORS is told as that, and so is mixed content', async () => {
    const world = new World()
    world.page = fakePage('https://shop.example.com', 'https:').page
    for (let k = 1; k <= 2; k++) world.hosts.set(`https://a${k}`, ({ init }) => (init.mode === 'no-cors' ? {} : 'down'))
    const text = await told(world, { agents: ['https://a1/pool', 'http://a2/pool'] })
    expect(text).toMatch(/https:\/\/a1\/pool: https:\/\/a1 is up, but .*CORS.*http\.cors/)
    expect(text).toMatch(/http:\/\/a2\/pool: .*mixed content/)
  })
})

describe('time', () => {
  it('a gateway that says nothing is overtaken after 1 s, once', async () => {
    const world = new World(3)
    const glbp = client(world, {}, pool({ weights: [100, 100] }))
    all(world, 'stall', 2)
    world.hosts.set('http://g2', { body: 'g2' })
    for (let k = 0; k < 10; k++) await settle(world, glbp.fetch('/api'), 1100)
    expect(world.open).toBe(0)
    const begun = sent(world).filter(({ origin }) => origin === 'http://g1').length
    expect(begun).toBeGreaterThan(0)
    expect(sent(world).length).toBe(10 + begun)
  })
  it('that has passed is no error of the network: all together have none while one was only slow', async () => {
    const world = new World()
    const glbp = client(world, {}, pool({ weights: [100, 100] }))
    world.hosts.set('http://g1', 'stall')
    while (!world.count('http://g1')) await settle(world, glbp.fetch('/api'), 1100)
    world.hosts.set('http://g2', 'down')
    glbp.fetch('/api').catch(() => undefined)
    await world.pass(1200)
    expect(glbp.gateways.every(({ successRate }) => successRate < 1)).toBe(true)
    expect(glbp.status).toBe('ok')
    await world.pass(20_000)
  })
  it('two that are equally slow: the first answer wins, the other is aborted, nobody is blamed', async () => {
    const world = new World()
    const glbp = client(world)
    all(world, { body: 'slow', ms: 1500 })
    expect((await settle(world, glbp.fetch('/api'), 1501)).status).toBe(200)
    expect(sent(world)).toHaveLength(2)
    expect(world.open).toBe(0)
    expect(glbp.gateways.every(({ successRate }) => successRate === 1)).toBe(true)
  })
  it('timeout ends all, and says what was tried without credentials or query', async () => {
    const world = new World()
    const glbp = client(world)
    all(world, 'stall')
    const error = await settle(world, glbp.fetch('/api?token=secret')).catch((e: unknown) => e)
    expect(error).toBeInstanceOf(GlbpError)
    const { attempts, message } = error as GlbpError
    expect(message).not.toContain('secret')
    expect(attempts).toHaveLength(3)
    expect(new Set(attempts.map(({ url }) => url)).size).toBe(3)
    expect(attempts[0]!.ms).toBeGreaterThanOrEqual(10_000)
    expect([world.open, world.listeners]).toEqual([0, 0])
  })
  it('Retry-After of 429 is waited for, and one that is too long is not', async () => {
    const world = new World()
    const glbp = client(world)
    all(world, { status: 429, headers: { 'Retry-After': '2' } })
    await settle(world, glbp.fetch('/api'))
    const times = sent(world).map(({ at }) => at)
    expect(times[1]! - times[0]!).toBeGreaterThanOrEqual(2000)
    const other = new World()
    const second = client(other)
    all(other, { status: 429, headers: { 'Retry-After': '3600' } })
    expect((await settle(other, second.fetch('/api'), 100)).status).toBe(429)
  })
  it('Retry-After of 503 keeps that gateway out of the choice, and nobody waits', async () => {
    const world = new World()
    const glbp = client(world)
    world.hosts.set('http://g1', { status: 503, headers: { 'Retry-After': '30' } })
    for (let k = 0; k < 60; k++) expect((await settle(world, glbp.fetch('/api'), 300)).status).toBe(200)
    expect(world.count('http://g1')).toBe(1)
  })
  it.each([['2', 2000], ['x', 0], ['-1', 0], ['', 0], ['Thu, 01 Jan 1970 00:00:10 GMT', 9000]])(
    'Retry-After %j is %i ms', (text, ms) => {
      expect(retryAfter(new Response(null, { headers: { 'Retry-After': text } }), 1000)).toBe(ms)
    })
})

it('a fetch that somebody has replaced and that throws is a gateway\'s failure as any', async () => {
  const world = new World()
  const { fetch: sends, ...env } = world.env()
  let calls = 0
  vi.stubGlobal('fetch', (...all: Parameters<typeof fetch>) => {
    if (++calls < 3) throw new Error('wrapped badly')
    return sends!(...all)
  })
  try {
    const answer = await settle(world, client(world, { env }).fetch('/api'))
    expect([answer.status, calls]).toEqual([200, 3])
    expect(glbp!.gateways.every(({ inFlight }) => inFlight === 0)).toBe(true)
  } finally {
    vi.unstubAllGlobals()
  }
})

describe('the caller\'s abort', () => {
  it('100 aborted calls of a typeahead blame nobody and leave nothing', async () => {
    const world = new World()
    const glbp = client(world)
    all(world, { ms: 200 })
    for (let k = 0; k < 100; k++) {
      const abort = new AbortController()
      const call = glbp.fetch(`/api?q=${k}`, { signal: abort.signal })
      call.catch(() => undefined)
      await world.pass(10)
      abort.abort(new DOMException('typed on', 'AbortError'))
      await expect(call).rejects.toThrow('typed on')
    }
    expect(glbp.gateways.every((one) => one.successRate === 1 && one.inFlight === 0 && one.alive)).toBe(true)
    expect([world.open, vi.getTimerCount()]).toEqual([0, 0])
  })
  it('before and between tries stops at once', async () => {
    const world = new World(3)
    const glbp = client(world)
    await expect(glbp.fetch('/api', { signal: AbortSignal.abort(new Error('no')) })).rejects.toThrow('no')
    expect(sent(world)).toHaveLength(0)
    all(world, 'down')
    const abort = new AbortController()
    const call = glbp.fetch('/api', { signal: abort.signal })
    call.catch(() => undefined)
    await world.pass(2)
    abort.abort(new Error('enough'))
    await expect(call).rejects.toThrow('enough')
    await world.pass(10_000)
    expect(sent(world)).toHaveLength(1)
  })
})

it('that fails at a gateway which has left the pool meanwhile is no news of it', async () => {
  const world = new World()
  let served = pool()
  cluster(world, () => served)
  world.hosts.set('http://g3', ({ path }) => (path === '/api' ? 'stall' : {}))
  glbp = createGlbp(world.options())
  const changed = vi.fn()
  glbp.on('change', changed)
  glbp.start()
  await vi.dynamicImportSettled()
  await world.pass(100)
  for (let k = 0; k < 60; k++) glbp.fetch('/api', { method: 'POST' }).catch(() => undefined)
  served = pool({ weights: [100, 100], version: 2 })
  await world.pass(20_000)
  expect(world.count('http://g3', /^\/api/)).toBeGreaterThan(5)
  expect(glbp.gateways).toHaveLength(2)
  expect(changed).not.toHaveBeenCalled()
})

describe('the budget', () => {
  it('retries are at most a fifth of the traffic and a little', async () => {
    const world = new World()
    const glbp = client(world, { tries: 3 })
    all(world, { status: 503 })
    for (let k = 0; k < 300; k++) {
      void glbp.fetch('/api')
      await world.pass(20)
    }
    await world.pass(20_000)
    expect(sent(world).length - 300).toBeLessThanOrEqual(20 + 60 + 30)
    expect(sent(world).length - 300).toBeGreaterThan(40)
  })
})

it('tells where a request went on, and why', async () => {
  const world = new World()
  const glbp = client(world, {}, pool({ weights: [100, 100] }))
  const seen: unknown[] = []
  glbp.on('failover', (event) => seen.push(event))
  world.hosts.set('http://g1', 'down')
  for (let k = 0; k < 6; k++) await settle(world, glbp.fetch('/api'), 500)
  expect(seen[0]).toEqual({ from: 'http://g1/api', to: 'http://g2', reason: 'TypeError: Failed to fetch' })
})
