import { afterEach, describe, expect, it, vi } from 'vitest'
import { createGlbp, type Glbp, type GlbpOptions } from '../src/index.js'
import { cluster, pool, World } from './world.js'

/** Where the client of the three agents keeps its pool. */
const KEY = 'glbp http://a1/pool/web,http://a2/pool/web,http://a3/pool/web'
let glbp: Glbp | undefined
afterEach(() => {
  glbp?.stop()
  vi.useRealTimers()
})
const begin = (world: World, more: Partial<GlbpOptions> = {}) => {
  glbp = createGlbp(world.options(more))
  glbp.start()
  return glbp
}
const asked = (world: World) => world.calls.filter(({ path }) => path === '/pool/web')

describe('the start', () => {
  it('asks one agent when it answers, and has its pool', async () => {
    const world = new World()
    cluster(world)
    const client = begin(world)
    await world.pass(100)
    expect(client.pool).toMatchObject({ group: 'web', version: 1 })
    expect(asked(world)).toHaveLength(1)
    expect(asked(world)[0]!.init).toMatchObject({ cache: 'no-cache' })
    expect(asked(world)[0]!.init.headers).toBeUndefined()
  })
  it('asks the next one after 150 ms, and at once after a failure', async () => {
    const world = new World()
    cluster(world)
    for (const agent of ['http://a1', 'http://a2', 'http://a3']) world.hosts.set(agent, 'stall')
    begin(world)
    await world.pass(149)
    expect(asked(world)).toHaveLength(1)
    await world.pass(300)
    expect(asked(world).map(({ at }) => at - asked(world)[0]!.at)).toEqual([0, 150, 300])

    const other = new World(2)
    cluster(other)
    for (const agent of ['http://a1', 'http://a2']) other.hosts.set(agent, 'down')
    const client = begin(other)
    await other.pass(50)
    expect(client.pool).toBeDefined()
  })
  it('uses the pool kept at once, then what is served', async () => {
    const world = new World()
    cluster(world)
    begin(world)
    await world.pass(100)
    glbp!.stop()
    cluster(world, () => pool({ version: 2 }))
    const client = begin(world)
    expect(client.pool).toMatchObject({ version: 1 })
    expect(client.pick().url).toMatch(/^http:\/\/g/)
    await world.pass(100)
    expect(client.pool).toMatchObject({ version: 2 })
  })
  it('with all agents down has the static list, and takes the pool when one comes', async () => {
    const world = new World()
    world.hosts.set('http://g1', {})
    const client = begin(world, { gateways: ['http://g1'] })
    await world.pass(3000)
    expect(client.pick().url).toBe('http://g1')
    expect(client.pool).toMatchObject({ term: 0 })
    cluster(world)
    await world.pass(6500)
    expect(client.pool).toMatchObject({ term: 1000 })
  })
  it('with no agent in reach says so, once', async () => {
    const world = new World()
    begin(world, { gateways: ['http://g1'] })
    await world.pass(60_000)
    expect(world.warnings.filter((text) => /no agent answers.*a1/.test(text))).toHaveLength(1)
  })
  it('with nothing at all says so', () => {
    const world = new World()
    expect(() => createGlbp({ env: world.env() })).toThrow(/agents/)
    expect(() => createGlbp(world.options()).pick()).toThrow(/no pool yet/)
    expect(() => createGlbp(world.options({ agents: ['C:\\new\\test'] }))).toThrow(/Windows/)
  })
})

describe('following', () => {
  it('asks every refresh_ms or a little later, one agent', async () => {
    const world = new World()
    cluster(world)
    begin(world)
    await world.pass(60_000)
    const times = asked(world).map(({ at }) => at)
    const gaps = times.slice(1).map((at, k) => at - times[k]!)
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(5000)
    expect(Math.max(...gaps)).toBeLessThan(6500)
    expect(new Set(asked(world).map(({ origin }) => origin)).size).toBe(1)
  })
  it('takes newer ones and tells it; an older one never at once', async () => {
    const world = new World()
    let version = 5
    cluster(world, () => pool({ version }))
    const client = begin(world)
    const seen: number[] = []
    client.on('pool', (taken) => seen.push(taken.version))
    await world.pass(100)
    version = 7
    await world.pass(6500)
    version = 6
    await world.pass(6500)
    expect(seen).toEqual([5, 7])
    await world.pass(20_000)
    expect(seen).toEqual([5, 7, 6])
  })
  it('an agent of a minority is not believed alone: the others are asked', async () => {
    const world = new World()
    cluster(world, () => pool({ majority: false, version: 9 }))
    world.hosts.set('http://a3', { body: pool({ version: 3 }), ms: 20 })
    const client = begin(world)
    await world.pass(200)
    expect(client.pool).toMatchObject({ version: 3 })
  })
  it.each([['empty', { ...pool(), gateways: [] }], ['no JSON', '<html>'], ['nothing', ''], ['null', 'null']])(
    'an answer that is %s empties nothing', async (_, body) => {
      const world = new World()
      cluster(world)
      const client = begin(world)
      await world.pass(100)
      for (const agent of ['http://a1', 'http://a2', 'http://a3']) world.hosts.set(agent, { body })
      await world.pass(60_000)
      expect(client.pool!.gateways).toHaveLength(3)
      expect(world.warnings.filter((text) => text.startsWith('http://a')).length).toBeGreaterThan(0)
      expect(client.pick()).toBeDefined()
    })
  it('learns of other agents, and never drops its seeds', async () => {
    const world = new World()
    cluster(world, () => pool({ agents: ['http://a9/pool/web', 'http://evil.example/pool'] }))
    const allow = ['http://g1', 'http://g2', 'http://g3', 'http://a9']
    const client = begin(world, { allow })
    await world.pass(100)
    expect(client.pool!.agents).toEqual(['http://a9/pool/web'])
    expect(world.warnings.join()).toMatch(/evil.*allow/)
    for (const agent of ['http://a1', 'http://a2', 'http://a3']) world.hosts.set(agent, 'down')
    world.hosts.set('http://a9', { body: pool({ version: 2, agents: [] }) })
    await world.pass(10_000)
    expect(client.pool).toMatchObject({ version: 2 })
    world.hosts.set('http://a9', 'down')
    cluster(world, () => pool({ version: 3 }))
    await world.pass(15_000)
    expect(client.pool).toMatchObject({ version: 3 })
    expect(world.count('http://evil.example')).toBe(0)
  })
  it('stops without a trace', async () => {
    const world = new World()
    cluster(world)
    const client = begin(world)
    await world.pass(20_000)
    client.stop()
    const before = world.calls.length
    await world.pass(60_000)
    expect(world.calls.length).toBe(before)
    expect(vi.getTimerCount()).toBe(0)
    expect([world.open, world.listeners]).toEqual([0, 0])
  })
})

describe('what is kept', () => {
  it.each([
    ['no JSON', '{'], ['null', 'null'], ['a future time', JSON.stringify({ schema: 1, at: 9e15, pool: pool() })],
    ['no time', JSON.stringify({ schema: 1, at: null, pool: pool() })],
    ['another schema', JSON.stringify({ schema: 2, at: 1, pool: pool() })],
    ['too much', JSON.stringify({ schema: 1, at: 1, pool: pool(), x: 'x'.repeat(40_000) })],
  ])('%s is not believed', (_, text) => {
    const world = new World()
    world.kept.set(KEY, text)
    expect(createGlbp(world.options()).pool).toBeUndefined()
  })
  it('latencies of a strange kind are left out', async () => {
    const world = new World()
    const latency = { 'http://g1': 12, 'http://g2': null, 'http://g3': 1e99 }
    world.kept.set(KEY, JSON.stringify({ schema: 1, at: Date.now(), pool: pool(), latency }))
    const client = begin(world)
    await vi.dynamicImportSettled()
    expect(client.gateways.map((gateway) => gateway.latency)).toEqual([12, null, null])
  })
  it('is never more than 32 kB: a pool that is greater is not kept', async () => {
    const world = new World()
    cluster(world, () => pool({ weights: Array.from({ length: 100 }, () => 1), version: 1 }))
    begin(world)
    await world.pass(100)
    expect(world.kept.get(KEY)!.length).toBeLessThan(32_768)
    cluster(world, () => pool({ weights: Array.from({ length: 300 }, () => 1), version: 2 }))
    await world.pass(6500)
    expect(glbp!.pool!.gateways).toHaveLength(300)
    expect(JSON.parse(world.kept.get(KEY)!)).toMatchObject({ pool: { version: 1 } })
  })
  it('a browser keeps its client id for host-dependent, and no more than it needs', async () => {
    const world = new World()
    const from = { pool: pool({ load_balancing: 'host-dependent' }), at: 0 }
    const urls = new Set<string>()
    for (let k = 0; k < 20; k++) {
      const client = createGlbp(world.options({ snapshot: from }))
      await vi.dynamicImportSettled()
      urls.add(client.pick().url)
    }
    expect(urls.size).toBe(1)
    expect([...world.kept.keys()]).toEqual(['glbp-client'])
  })
  it('is of the agents that gave it: another client of the origin does not begin with it', async () => {
    const world = new World()
    cluster(world)
    begin(world)
    await world.pass(100)
    expect(createGlbp(world.options()).gateways).toHaveLength(3)
    expect(createGlbp(world.options({ agents: ['http://a1/pool/admin'] })).pool).toBeUndefined()
    const fixed = createGlbp(world.options({ agents: [], gateways: ['http://g9'] }))
    expect(fixed.gateways.map(({ url }) => url)).toEqual(['http://g9'])
    const options = { agents: ['http://a1/pool/admin'], storageKey: KEY }
    expect(createGlbp(world.options(options)).gateways).toHaveLength(3)
  })
  it.each(['reading', 'writing', 'the property'])('storage that forbids %s is survived', async (what) => {
    const world = new World()
    cluster(world)
    const refuse = () => {
      throw new DOMException('denied', 'SecurityError')
    }
    const storage = what === 'the property' ? refuse : () => ({
      getItem: what === 'reading' ? refuse : () => null, setItem: refuse,
    })
    const client = begin(world, { env: { ...world.env(), storage } })
    await world.pass(100)
    expect(client.pool).toBeDefined()
  })
  it('a snapshot of a server is where a page begins', () => {
    const world = new World()
    const first = createGlbp(world.options({ snapshot: { pool: pool({ version: 4 }), at: Date.now() } }))
    expect(first.pick()).toBeDefined()
    expect(first.snapshot()!.pool).toMatchObject({ version: 4 })
  })
})
