import { afterEach, describe, expect, it, vi } from 'vitest'
import { createGlbp, type Glbp, type GlbpOptions } from '../src/index.js'
import { cluster, fakePage, pool, World } from './world.js'

let glbp: Glbp | undefined
afterEach(() => {
  glbp?.stop()
  vi.useRealTimers()
})
async function begin(world: World, more: Partial<GlbpOptions> = {}) {
  glbp = createGlbp(world.options(more))
  glbp.start()
  await world.pass(100)
  return glbp
}
const probes = (world: World, k: number) =>
  world.calls.filter(({ origin, path }) => origin === `http://g${k}` && path === '/health')
const alive = () => glbp!.gateways.map((gateway) => gateway.alive)

describe('probes', () => {
  it('are HEADs without headers, each 5 s ± 20 %', async () => {
    const world = new World()
    cluster(world)
    await begin(world)
    await world.pass(60_000)
    for (let k = 1; k <= 3; k++) {
      const times = probes(world, k).map(({ at }) => at)
      expect(times.length).toBeGreaterThan(10)
      const gaps = times.slice(1).map((at, n) => at - times[n]!)
      expect(Math.min(...gaps)).toBeGreaterThanOrEqual(4000)
      expect(Math.max(...gaps)).toBeLessThan(6100)
    }
    expect(probes(world, 1)[0]).toMatchObject({ method: 'HEAD' })
    expect(probes(world, 1)[0]!.init.headers).toBeUndefined()
    expect(glbp!.gateways[0]!.latency).toBeCloseTo(2)
    expect(glbp!.gateways[0]!.lastProbe).toBeGreaterThan(0)
  })
  it.each([405, 501])('become GETs when HEAD is answered %i', async (status) => {
    const world = new World()
    cluster(world)
    world.hosts.set('http://g1', ({ method }) => (method === 'HEAD' ? { status } : {}))
    await begin(world)
    await world.pass(30_000)
    expect(alive()).toEqual([true, true, true])
    expect(probes(world, 1).map(({ method }) => method).slice(0, 3)).toEqual(['HEAD', 'GET', 'GET'])
  })
  it.each([['down', 'down'], ['stalled', 'stall'], ['answering 503', { status: 503 }], ['answering 404', { status: 404 }],
    ['at its limit of time', { ms: 2100 }]] as const)('find a gateway that is %s', async (_, answer) => {
    const world = new World()
    cluster(world)
    await begin(world)
    world.hosts.set('http://g2', answer)
    await world.pass(11_000)
    expect(alive()).toEqual([true, false, true])
    for (let k = 0; k < 100; k++) expect(glbp!.pick().url).not.toBe('http://g2')
    expect(world.warnings.filter((text) => text.startsWith('http://g2 is'))).toHaveLength(1)
  })
  it('ask the dead less and less often, and one success brings them back, slowly', async () => {
    const world = new World()
    cluster(world)
    await begin(world)
    world.hosts.set('http://g2', 'down')
    await world.pass(120_000)
    const times = probes(world, 2).map(({ at }) => at)
    expect(times.at(-1)! - times.at(-2)!).toBeGreaterThan(20_000)
    world.hosts.set('http://g2', {})
    await world.pass(37_000)
    expect(alive()).toEqual([true, true, true])
    expect(glbp!.explain()[1]!.slowStart).toBeGreaterThanOrEqual(0.1)
    expect(world.warnings).toContain('http://g2 is back')
  })
  it('are sent at once to the dead when the agents have news', async () => {
    const world = new World()
    let version = 1
    cluster(world, () => pool({ version }))
    await begin(world)
    world.hosts.set('http://g2', 'down')
    await world.pass(120_000)
    const before = probes(world, 2).length
    world.hosts.set('http://g2', {})
    version = 2
    await world.pass(6500)
    expect(probes(world, 2).length).toBeGreaterThan(before)
    expect(alive()).toEqual([true, true, true])
  })
  it('are not needed where a request has just succeeded', async () => {
    const world = new World()
    cluster(world)
    await begin(world)
    for (let k = 0; k < 200; k++) {
      void glbp!.fetch('/api')
      await world.pass(100)
    }
    expect(probes(world, 1).length).toBeLessThanOrEqual(2)
  })
  it('in flight when their gateway leaves the pool count no more', async () => {
    const world = new World()
    let served = pool()
    cluster(world, () => served)
    await begin(world)
    world.hosts.set('http://g3', 'stall')
    await world.pass(4400)
    served = pool({ version: 2, weights: [100, 100] })
    await world.pass(8000)
    expect(glbp!.gateways).toHaveLength(2)
    const before = probes(world, 3).length
    await world.pass(60_000)
    expect(probes(world, 3).length).toBe(before)
    expect(world.warnings).toEqual([])
  })
  it('10,000 of them leak no listener and no timer', async () => {
    const world = new World()
    cluster(world)
    await begin(world, { probe: { intervalMs: 100 } })
    world.calls.length = 0
    for (let k = 0; k < 40; k++) await world.pass(10_000)
    expect(world.calls.filter(({ path }) => path === '/health').length).toBeGreaterThan(10_000)
    expect(world.listeners).toBe(world.open)
    expect(vi.getTimerCount()).toBeLessThan(12)
  })
  it('run once for 50 users of the client', async () => {
    const world = new World()
    cluster(world)
    await begin(world)
    for (let k = 0; k < 49; k++) glbp!.start()
    await world.pass(30_000)
    expect(probes(world, 1).length).toBeLessThan(9)
    for (let k = 0; k < 49; k++) glbp!.stop()
    const before = world.calls.length
    await world.pass(10_000)
    expect(world.calls.length).toBeGreaterThan(before)
    glbp!.stop()
    expect(vi.getTimerCount()).toBe(0)
  })
})

describe('when all fail at once', () => {
  it('by network errors, nobody is ejected: degraded within 3 s of traffic, well again with the first success', async () => {
    const world = new World()
    cluster(world)
    await begin(world)
    const seen: string[] = []
    for (const type of ['degraded', 'recovered'] as const) glbp!.on(type, () => seen.push(type))
    for (const host of [...world.hosts.keys()]) world.hosts.set(host, 'down')
    for (let k = 0; k < 30; k++) {
      glbp!.fetch('/api').catch(() => undefined)
      await world.pass(100)
    }
    expect(glbp!.status).toBe('degraded')
    expect(glbp!.gateways.every(({ state }) => state === 'active')).toBe(true)
    await world.pass(60_000)
    cluster(world)
    await world.pass(6000)
    expect(glbp!.status).toBe('ok')
    expect(alive()).toEqual([true, true, true])
    expect(seen).toEqual(['degraded', 'recovered'])
  })
  it('for a moment, the return is seen soon, however lately a request had succeeded', async () => {
    const world = new World()
    cluster(world, () => pool({ weights: [100] }))
    await begin(world)
    void glbp!.fetch('/api')
    await world.pass(10)
    world.hosts.set('http://g1', 'down')
    glbp!.fetch('/api').catch(() => undefined)
    await world.pass(1000)
    expect(glbp!.status).toBe('degraded')
    world.hosts.set('http://g1', {})
    await world.pass(3600)
    expect(glbp!.status).toBe('ok')
  })
  it('by 503, all are dead, all are candidates, and it recovers within 6 s', async () => {
    const world = new World()
    cluster(world)
    await begin(world)
    for (let k = 1; k <= 3; k++) world.hosts.set(`http://g${k}`, { status: 503 })
    await world.pass(12_000)
    expect(glbp!.status).toBe('degraded')
    expect(glbp!.pick()).toBeDefined()
    await world.pass(60_000)
    cluster(world)
    await world.pass(6000)
    expect(glbp!.status).toBe('ok')
  })
})

describe('the page', () => {
  it('hidden asks nothing; shown again it asks at once and holds nothing against anybody', async () => {
    const world = new World()
    const { page, show } = fakePage()
    world.page = page
    cluster(world)
    world.hosts.set('http://g2', 'down')
    await begin(world)
    await world.pass(10_000)
    expect(alive()).toEqual([true, false, true])
    show('hidden')
    const before = world.calls.length
    await world.pass(600_000)
    expect(world.calls.length).toBe(before)
    show('visible')
    expect(alive()).toEqual([true, true, true])
    expect(world.calls.length).toBeGreaterThanOrEqual(before + 3)
  })
  it('that begins hidden asks for a pool if it has none, and for no more until it is seen', async () => {
    const world = new World()
    const { page, show, document, window } = fakePage()
    document.visibilityState = 'hidden'
    world.page = page
    for (const agent of ['http://a1', 'http://a2', 'http://a3']) world.hosts.set(agent, 'down')
    await begin(world)
    // As a browser does when the page is there.
    window.dispatchEvent(new Event('pageshow'))
    await world.pass(5000)
    cluster(world)
    await world.pass(6000)
    expect(glbp!.pool).toBeDefined()
    world.calls.length = 0
    await world.pass(60_000)
    expect(world.calls).toEqual([])
    show('visible')
    await world.pass(100)
    expect(world.calls).toHaveLength(4)
  })
  it('offline ejects nobody, and online asks at once', async () => {
    const world = new World()
    const { page, window } = fakePage()
    world.page = page
    cluster(world)
    await begin(world)
    const seen: string[] = []
    for (const type of ['offline', 'degraded', 'recovered'] as const) glbp!.on(type, () => seen.push(type))
    window.dispatchEvent(new Event('offline'))
    for (const host of [...world.hosts.keys()]) world.hosts.set(host, 'down')
    await world.pass(30_000)
    expect(alive()).toEqual([true, true, true])
    cluster(world)
    window.dispatchEvent(new Event('online'))
    await world.pass(6000)
    expect(glbp!.status).toBe('ok')
    expect(seen).toEqual(['offline', 'recovered'])
  })
  it('that begins without a network is offline until there is one', async () => {
    const world = new World()
    const { page, window } = fakePage()
    Object.assign(window, { navigator: { onLine: false } })
    world.page = page
    await begin(world, { gateways: ['http://g1', 'http://g2'] })
    await world.pass(20_000)
    expect(glbp!.status).toBe('offline')
    expect(alive()).toEqual([true, true])
    cluster(world)
    window.dispatchEvent(new Event('online'))
    await world.pass(1000)
    expect(glbp!.status).toBe('ok')
    expect(glbp!.pool).toMatchObject({ group: 'web' })
  })
  it('left keeps its pool, and takes its listeners along', async () => {
    const world = new World()
    const { page, window } = fakePage()
    world.page = page
    const on = vi.spyOn(window, 'addEventListener')
    const off = vi.spyOn(window, 'removeEventListener')
    cluster(world)
    await begin(world)
    world.kept.clear()
    window.dispatchEvent(new Event('pagehide'))
    expect(JSON.parse([...world.kept.values()][0]!)).toMatchObject({ schema: 1, pool: { version: 1 } })
    glbp!.stop()
    expect(off.mock.calls.length).toBe(on.mock.calls.length)
  })
})
