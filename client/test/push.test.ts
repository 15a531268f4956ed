import { afterEach, describe, expect, it, vi } from 'vitest'
import { createGlbp, type Glbp, type GlbpOptions } from '../src/index.js'
import { Browser, cluster, fakePage, pool, World, type FakeStream } from './world.js'

let glbp: Glbp | undefined
afterEach(() => {
  glbp?.stop()
  vi.useRealTimers()
})
async function begin(world: World, follow: 'long-poll' | 'events', more: Partial<GlbpOptions> = {}) {
  glbp = createGlbp(world.options({ follow, ...more }))
  glbp.start()
  await vi.dynamicImportSettled()
  await world.pass(700)
  return glbp
}
const polls = (world: World) => world.calls.filter(({ path }) => path === '/pool/web').length
const waits = (world: World) => world.calls.filter(({ path }) => path.includes('wait='))
const last = (world: World): FakeStream => world.streams.at(-1)!

describe('a stream of events', () => {
  it('is one, at /events of the agent\'s group, and its news are taken at once', async () => {
    const world = new World()
    let version = 1
    cluster(world, () => pool({ version }))
    const client = await begin(world, 'events')
    version = 7
    expect(world.streams.map(({ url }) => url)).toEqual([expect.stringMatching(/^http:\/\/a\d\/events\/web$/)])
    last(world).send(pool({ version: 7 }))
    expect(client.pool).toMatchObject({ version: 7 })
    await world.pass(600_000)
    expect(world.streams).toHaveLength(1)
  })
  it('of an agent whose url names no group is that of the pool\'s group', async () => {
    const world = new World()
    world.hosts.set('http://a1', { body: pool() })
    await begin(world, 'events', { agents: ['http://a1/pool'] })
    await world.pass(5000)
    expect(last(world).url).toBe('http://a1/events/web')
  })
  it('leaves polling as the safety net, at a quarter of its pace', async () => {
    const world = new World()
    cluster(world)
    await begin(world, 'events')
    last(world).send(pool())
    const before = polls(world)
    await world.pass(120_000)
    expect(polls(world) - before).toBeGreaterThan(3)
    expect(polls(world) - before).toBeLessThan(8)
  })
  it('closed for good, by 503 or 204, is opened anew, at another agent, later and later', async () => {
    const world = new World()
    cluster(world)
    await begin(world, 'events')
    const first = last(world)
    first.break(true)
    await world.pass(700)
    expect(world.streams).toHaveLength(2)
    expect(last(world).url).not.toBe(first.url)
    for (let k = 0; k < 60; k++) {
      if (last(world).readyState !== 2) last(world).break(true)
      await world.pass(1000)
    }
    expect(world.streams.length).toBeLessThan(12)
    await world.pass(40_000)
    last(world).send(pool({ version: 3 }))
    expect(glbp!.pool).toMatchObject({ version: 3 })
    last(world).break(true)
    const count = world.streams.length
    await world.pass(700)
    expect(world.streams.length).toBe(count + 1)
  })
  it('that the browser opens again by itself is left alone once, and given up when it breaks again', async () => {
    const world = new World()
    cluster(world)
    await begin(world, 'events')
    const first = last(world)
    first.break(false)
    await world.pass(5000)
    expect(world.streams).toHaveLength(1)
    first.send(pool({ version: 2 }))
    first.break(false)
    first.break(false)
    await world.pass(5000)
    expect(first.readyState).toBe(2)
    expect(world.streams).toHaveLength(2)
  })
  it('that died without a word is found by polling', async () => {
    const world = new World()
    let version = 1
    cluster(world, () => pool({ version }))
    await begin(world, 'events')
    const first = last(world)
    first.send(pool())
    await world.pass(10_000)
    version = 2
    await world.pass(30_000)
    expect(glbp!.pool).toMatchObject({ version: 2 })
    expect(first.readyState).toBe(2)
    expect(last(world).url).not.toBe(first.url)
  })
  it.each([['empty', { ...pool({ version: 9 }), gateways: [] }], ['no JSON', '{'], ['null', 'null'], ['nothing', '']])(
    'an event that is %s empties nothing', async (_, data) => {
      const world = new World()
      cluster(world)
      const client = await begin(world, 'events')
      last(world).send(data)
      expect(client.pool).toEqual(pool())
      expect(world.warnings.join()).toMatch(/the pool/)
    })
  it('of a minority, or with an older pool, is not believed alone', async () => {
    const world = new World()
    cluster(world, () => pool({ version: 5 }))
    const client = await begin(world, 'events')
    last(world).send(pool({ version: 9, majority: false }))
    last(world).send(pool({ version: 4 }))
    await world.pass(300)
    expect(client.pool).toMatchObject({ version: 5 })
  })
  it('of the only agent, which is lone, is believed all the same', async () => {
    const world = new World()
    world.hosts.set('http://a1', { body: pool({ lone: true }) })
    const client = await begin(world, 'events', { agents: ['http://a1/pool/web'] })
    last(world).send(pool({ version: 2, lone: true }))
    await world.pass(10)
    expect(client.pool).toMatchObject({ version: 2 })
  })
  it('is not there in a browser without streams: polling goes on', async () => {
    const world = new World()
    let version = 1
    cluster(world, () => pool({ version }))
    const env = { ...world.env(), events: () => { throw new ReferenceError('EventSource is not defined') } }
    const client = await begin(world, 'events', { env })
    version = 2
    await world.pass(6500)
    expect(client.pool).toMatchObject({ version: 2 })
  })
  it('is held by one of three tabs, and by another when that one is hidden', async () => {
    const world = new World()
    world.browser = new Browser()
    cluster(world)
    const tabs = Array.from({ length: 3 }, () => {
      const { page, show } = fakePage()
      world.page = page
      return { show, glbp: createGlbp(world.options({ follow: 'events' })) }
    })
    for (const tab of tabs) tab.glbp.start()
    await vi.dynamicImportSettled()
    await world.pass(2000)
    expect(world.streams).toHaveLength(1)
    last(world).send(pool({ version: 8 }))
    await world.pass(10)
    expect(tabs.map((tab) => tab.glbp.pool!.version)).toEqual([8, 8, 8])
    tabs[0]!.show('hidden')
    await vi.dynamicImportSettled()
    await world.pass(2000)
    expect(world.streams[0]!.readyState).toBe(2)
    expect(world.streams).toHaveLength(2)
    for (const tab of tabs) tab.glbp.stop()
    expect(last(world).readyState).toBe(2)
    expect(vi.getTimerCount()).toBe(0)
  })
})

describe('a long poll', () => {
  /** Agents that answer with what is served, or with 304 when it is still that after 30 s. */
  function waiting(world: World, served: () => ReturnType<typeof pool>, ms = 30_000): void {
    cluster(world)
    for (let k = 1; k <= 3; k++) {
      world.hosts.set(`http://a${k}`, ({ path }) => {
        const { term, avg, version } = served()
        const same = path.endsWith(`stamp=${term}.${avg}.${version}`)
        return same ? { status: 304, ms } : { body: served() }
      })
    }
  }
  it('waits with the stamp in hand, one at a time, and no header of its own', async () => {
    const world = new World()
    waiting(world, () => pool())
    await begin(world, 'long-poll')
    expect(waits(world).map(({ path }) => path)).toEqual(['/pool/web?wait=30s&stamp=1000.bff-1.1'])
    expect(waits(world)[0]!.init.headers).toBeUndefined()
    await world.pass(300_000)
    expect(waits(world).length).toBeGreaterThan(9)
    expect(waits(world).length).toBeLessThan(13)
  })
  it('takes what comes, and asks with the new stamp', async () => {
    const world = new World()
    let version = 1
    waiting(world, () => pool({ version }), 3000)
    const client = await begin(world, 'long-poll')
    version = 2
    await world.pass(3200)
    expect(client.pool).toMatchObject({ version: 2 })
    await world.pass(100)
    expect(waits(world).at(-1)!.path).toContain('stamp=1000.bff-1.2')
  })
  it('does not ask in a circle: an answer that is not newer, or a 304 at once, costs refresh_ms', async () => {
    for (const answer of [{ body: pool() }, { status: 304 }]) {
      const world = new World()
      cluster(world)
      for (let k = 1; k <= 3; k++) world.hosts.set(`http://a${k}`, ({ path }) => path.includes('wait') ? answer : { body: pool() })
      await begin(world, 'long-poll')
      await world.pass(60_000)
      expect(waits(world).length).toBeLessThan(17)
      glbp!.stop()
    }
  })
  it.each([['down', 'down'], ['silent', 'stall'], ['answering 503', { status: 503 }], ['no JSON', { body: '<html>' }]] as const)(
    'goes on at another agent when one is %s', async (_, answer) => {
      const world = new World()
      waiting(world, () => pool())
      world.hosts.set('http://a1', answer)
      world.hosts.set('http://a2', answer)
      await begin(world, 'long-poll')
      await world.pass(150_000)
      expect(waits(world).filter(({ origin }) => origin === 'http://a3').length).toBeGreaterThan(1)
      expect(waits(world).length).toBeLessThan(60)
    })
  it('is let go with the client', async () => {
    const world = new World()
    waiting(world, () => pool())
    const client = await begin(world, 'long-poll')
    client.stop()
    await world.pass(1)
    expect([world.open, world.listeners, vi.getTimerCount()]).toEqual([0, 0, 0])
  })
})
