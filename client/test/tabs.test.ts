import { afterEach, describe, expect, it, vi } from 'vitest'
import { createGlbp, type Glbp, type GlbpOptions } from '../src/index.js'
import { Browser, cluster, fakePage, pool, World } from './world.js'

const open: Glbp[] = []
afterEach(() => {
  for (const glbp of open.splice(0)) glbp.stop()
  vi.useRealTimers()
})

/** Tabs of one browser, all on one network. */
async function tabs(world: World, count: number, more: Partial<GlbpOptions> = {}) {
  const made = Array.from({ length: count }, () => {
    const { page, ...rest } = fakePage()
    world.page = page
    const glbp = createGlbp(world.options(more))
    open.push(glbp)
    return { glbp, ...rest }
  })
  for (const { glbp } of made) glbp.start()
  await vi.dynamicImportSettled()
  await world.pass(2000)
  return made
}
const probes = (world: World) => world.count('http://g1', /health/)
const polls = (world: World) => world.calls.filter(({ path }) => path.startsWith('/pool')).length

describe('eight tabs at once', () => {
  it.each([['with locks', true], ['without locks (a page of http)', false]])('%s ask as often as one', async (_, locks) => {
    const world = new World()
    world.browser = new Browser(locks)
    cluster(world)
    await tabs(world, 8)
    await world.pass(30_000)
    world.calls.length = 0
    await world.pass(120_000)
    expect(probes(world)).toBeGreaterThan(15)
    expect(probes(world)).toBeLessThan(45)
    expect(polls(world)).toBeGreaterThan(10)
    expect(polls(world)).toBeLessThan(45)
  })
  it('all know of a gateway that dies, and of its return, and of another pool', async () => {
    const world = new World()
    world.browser = new Browser()
    let version = 1
    cluster(world, () => pool({ version }))
    const made = await tabs(world, 8)
    await world.pass(10_000)
    world.hosts.set('http://g2', { status: 503 })
    version = 2
    await world.pass(9000)
    for (const { glbp } of made) {
      expect(glbp.gateways.map(({ alive }) => alive)).toEqual([true, false, true])
      expect(glbp.pool).toMatchObject({ version: 2 })
    }
    world.hosts.set('http://g2', {})
    await world.pass(40_000)
    for (const { glbp } of made) expect(glbp.gateways.map(({ alive }) => alive)).toEqual([true, true, true])
  })
  it('another leads when the leader is closed, hidden or frozen', async () => {
    const world = new World()
    world.browser = new Browser()
    cluster(world)
    const made = await tabs(world, 3)
    for (const leave of [
      () => made[0]!.show('hidden'),
      () => made[1]!.document.dispatchEvent(new Event('freeze')),
    ]) {
      await world.pass(10_000)
      leave()
      await vi.dynamicImportSettled()
      world.calls.length = 0
      await world.pass(60_000)
      expect(probes(world)).toBeGreaterThan(8)
      expect(probes(world)).toBeLessThan(25)
    }
    made[2]!.glbp.stop()
    world.calls.length = 0
    await world.pass(60_000)
    expect(world.calls).toHaveLength(0)
    made[0]!.show('visible')
    await world.pass(60_000)
    expect(probes(world)).toBeGreaterThan(8)
  })
  it('a leader that holds its lock and says nothing is not waited for', async () => {
    const world = new World()
    world.browser = new Browser()
    cluster(world)
    const names: string[] = []
    const { request } = world.browser.locks as { request: (...all: unknown[]) => unknown }
    world.browser.locks = { request: ((name: string, ...rest: unknown[]) => {
      names.push(name)
      return request(name, ...rest)
    }) as never }
    const [tab] = await tabs(world, 1)
    tab!.glbp.stop()
    await vi.dynamicImportSettled()
    void world.browser.locks.request(names[0]!, {}, () => new Promise(() => undefined))
    const [other] = await tabs(world, 1)
    world.hosts.set('http://g1', { status: 503 })
    await world.pass(30_000)
    expect(other!.glbp.gateways[0]).toMatchObject({ alive: false })
  })
})

describe('what another tab says', () => {
  it.each([
    ['nothing', null], ['a text', 'pool'], ['a list', [1]],
    ['an empty pool', { pool: { ...pool({ version: 9 }), gateways: [] } }],
    ['a pool that is null', { pool: null }], ['no stamp', { pool: { ...pool(), term: null } }],
    ['an evil url', { pool: pool({ version: 9, urls: ['javascript:1', 'ftp://g', 'http://u:p@g'] }) }],
    ['a probe without a time', { probe: { url: 'http://g1', ok: false, ms: NaN, network: false } }],
    ['a probe of a stranger', { probe: { url: 'http://evil', ok: true, ms: 1 } }],
    ['a probe of null', { probe: { url: null, ok: null, ms: null } }],
  ])('empties nothing: %s', async (_, message) => {
    const world = new World()
    world.browser = new Browser()
    cluster(world)
    const [tab] = await tabs(world, 1)
    const before = tab!.glbp.gateways
    const liar = world.browser.channel([...world.browser.open][0]!.name)
    for (let k = 0; k < 5; k++) liar.postMessage(message)
    await world.pass(1)
    expect(tab!.glbp.pool).toEqual(pool())
    expect(tab!.glbp.gateways).toEqual(before)
  })
  it('is taken where it is sound, and an older pool is not', async () => {
    const world = new World()
    world.browser = new Browser()
    cluster(world)
    const [tab] = await tabs(world, 1)
    const leader = world.browser.channel([...world.browser.open][0]!.name)
    leader.postMessage({ pool: pool({ version: 5 }) })
    await world.pass(1)
    expect(tab!.glbp.pool).toMatchObject({ version: 5 })
    leader.postMessage({ pool: pool({ version: 4 }) })
    await world.pass(1)
    expect(tab!.glbp.pool).toMatchObject({ version: 5 })
    for (let k = 0; k < 2; k++) {
      await world.pass(400)
      leader.postMessage({ probe: { url: 'http://g1', ok: false, ms: 2, network: false } })
    }
    await world.pass(1)
    expect(tab!.glbp.gateways[0]).toMatchObject({ alive: false })
  })
})

describe('a tab', () => {
  it('alone, without channels or locks, works by itself', async () => {
    const world = new World()
    cluster(world)
    const [tab] = await tabs(world, 1)
    await world.pass(60_000)
    expect(probes(world)).toBeGreaterThan(9)
    expect(tab!.glbp.status).toBe('ok')
  })
  it('alone, that leads a moment after its first poll, polls and probes at its pace from then on', async () => {
    const world = new World()
    world.browser = new Browser()
    const { locks } = world.browser
    const late = (name: string, options: LockOptions, run: () => unknown) => new Promise((resolve) => setTimeout(resolve, 50))
      .then(() => (locks as { request: (...all: unknown[]) => unknown }).request(name, options, run))
    world.browser.locks = { request: late as never }
    cluster(world)
    await tabs(world, 1)
    await world.pass(4600)
    expect([polls(world) > 1, probes(world) > 1]).toEqual([true, true])
    await world.pass(60_000)
    expect(polls(world)).toBeGreaterThan(10)
  })
  it('leaves nothing behind', async () => {
    for (const locks of [true, false]) {
      const world = new World()
      world.browser = new Browser(locks)
      cluster(world)
      const made = await tabs(world, 3)
      await world.pass(20_000)
      for (const { glbp } of made) glbp.stop()
      await vi.dynamicImportSettled()
      expect(world.browser.open.size).toBe(0)
      expect([vi.getTimerCount(), world.open, world.listeners]).toEqual([0, 0, 0])
    }
  })
  it('that goes and comes back by the cache of the history begins anew', async () => {
    const world = new World()
    world.browser = new Browser()
    cluster(world)
    const [tab] = await tabs(world, 1)
    tab!.window.dispatchEvent(new Event('pagehide'))
    expect(world.browser.open.size).toBe(0)
    world.calls.length = 0
    await world.pass(60_000)
    expect(world.calls).toHaveLength(0)
    tab!.window.dispatchEvent(new Event('pageshow'))
    await world.pass(100)
    expect(world.calls.length).toBe(4)
    expect(world.browser.open.size).toBe(1)
  })
})
