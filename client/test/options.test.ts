import { afterEach, describe, expect, it, vi } from 'vitest'
import { createGlbp, type GlbpOptions } from '../src/index.js'
import { createGlbpPlugin } from '../src/vue/index.js'
import { cluster, pool, World } from './world.js'

afterEach(() => void vi.useRealTimers())
const AGENTS = ['http://a1/pool/web']
const create = (options: unknown) => () => createGlbp({ agents: AGENTS, ...(options as GlbpOptions) })

describe('an option that cannot be meant', () => {
  it.each([
    [{ gatways: ['http://g1'] }, /options\.gatways: .*agents\|gateways\|allow.*env/], [{ retries: 3 }, /options\.retries/],
    [{ timeout: Infinity }, /options\.timeout: Infinity is not 1 to 86400000/], [{ timeout: '5s' }, /timeout: 5s is not 1 to/],
    [{ timeout: NaN }, /NaN/], [{ timeout: 0 }, /timeout: 0/], [{ timeout: -1 }, /timeout/], [{ timeout: null }, /timeout: null/],
    [{ tryTimeout: '1000' }, /tryTimeout: 1000/], [{ tryTimeout: 2 ** 31 }, /tryTimeout/], [{ tries: 1.5 }, /tries: 1.5/],
    [{ tries: 0 }, /tries: 0/], [{ tries: true }, /tries: true/],
    [{ agents: 'http://a1/pool' }, /options\.agents: http:\/\/a1\/pool is not a list/], [{ agents: null }, /agents: null is not/],
    [{ agents: ['a1/pool'] }, /agents, gateways: "a1\/pool" is no url: write https/], [{ agents: [7] }, /agents, gateways: "7" is no url/],
    [{ agents: ['http://u:secret@a1/pool'] }, /credentials/],
    [{ gateways: { url: 'http://g1' } }, /gateways: .* is not a list/], [{ gateways: [null] }, /gateways: .*no url/],
    [{ gateways: ['C:\\new\\test'] }, /gateways: .*Windows/], [{ gateways: [{ url: 'http://g1', weight: '5' }] }, /gateways: .*weight 5/],
    [{ gateways: ['http://g1', { weight: 5 }] }, /gateways: .*no url/], [{ allow: 'https://g1' }, /allow: https:\/\/g1 is not a list/],
  ])('%j is thrown by createGlbp', (options, text) => {
    expect(create(options)).toThrow(TypeError)
    expect(create(options)).toThrow(text)
    expect(create(options)).not.toThrow(/secret/)
  })
  it.each([[undefined], [null], ['http://a1/pool'], [{}], [[]]])('%j in place of the options is thrown', (options) => {
    expect(() => createGlbp(options as never)).toThrow(/^glbp: /)
    expect(() => createGlbpPlugin(options as never).install!({ provide: () => undefined } as never)).toThrow(/^glbp: /)
  })
  it.each([
    [{ loadBalancing: 'roundrobin' }, 'options.loadBalancing: "roundrobin" is not one of weighted, round-robin, host-dependent, best, two-choices'],
    [{ follow: 'stream' }, 'options.follow: "stream" is not one of poll, long-poll, events'],
    [{ probe: { intervalMs: '5s' } }, 'options.probe.intervalMs: "5s" is not a whole number from 100 to 86400000'],
    [{ probe: { intervalMs: 1 } }, 'options.probe.intervalMs: 1 is not a whole number from 100 to 86400000'],
    [{ probe: { intervalMs: Infinity } }, 'options.probe.intervalMs: Infinity is not'],
    [{ probe: { timeoutMs: NaN } }, 'options.probe.timeoutMs: NaN is not a whole number from 1 to 86400000'],
    [{ probe: { interval: 5000 } }, 'options.probe.interval: 5000 is not known there, as are path, intervalMs, timeoutMs, expect, method'],
    [{ probe: { expect: 200 } }, 'options.probe.expect: 200 is no list'],
    [{ probe: { expect: [200, '204'] } }, 'options.probe.expect[1]: "204" is not a whole number from 100 to 599'],
    [{ probe: { method: 'POST' } }, 'options.probe.method: "POST" is not one of HEAD, GET, OPTIONS'],
    [{ probe: { path: 7 } }, 'options.probe.path: 7 is no string'], [{ probe: 'fast' }, 'options.probe: "fast" is no object'],
    [{ allow: ['g1.example.com'] }, 'options.allow[0]: "g1.example.com" is neither https://host nor https://*.host'],
    [{ allow: ['https://g1/path'] }, 'options.allow[0]'], [{ allow: ['*'] }, 'options.allow[0]'], [{ allow: [7] }, 'options.allow[0]: 7'],
    [{ tries: 101 }, 'options.tries: 101 is not a whole number from 1 to 100'], [{ storageKey: true }, 'options.storageKey: true is no string'],
    [{ gateways: [{ url: 'http://g1', wieght: 5 }] }, 'options.gateways[0].wieght: 5 is not known there, as are url, weight'],
  ])('%j is told when it starts, which it then does not', async (options, text) => {
    const world = new World()
    cluster(world)
    const glbp = createGlbp(world.options(options as never))
    glbp.start()
    await vi.dynamicImportSettled()
    await world.pass(10_000)
    expect(world.warnings).toEqual([expect.stringContaining(text)])
    expect(world.calls).toEqual([])
    const call = 'gateways' in options ? undefined : glbp.fetch('/api')
    call?.catch(() => undefined)
    await world.pass(20_000)
    if (call) await expect(call).rejects.toThrow(text)
    glbp.stop()
    expect(vi.getTimerCount()).toBe(0)
  })
  it('of a way to choose is thrown by each request where nothing is started', async () => {
    const world = new World()
    const glbp = createGlbp(world.options({ gateways: ['http://g1'], loadBalancing: 'roundrobin' as never }))
    for (let k = 0; k < 2; k++) await expect(glbp.fetch('/api')).rejects.toThrow(/options\.loadBalancing: "roundrobin" is not one of weighted/)
  })
})

describe('what may be meant', () => {
  it('is taken: each option, and undefined for left out', async () => {
    const world = new World()
    cluster(world)
    const glbp = createGlbp(world.options({
      gateways: ['http://g1', { url: 'http://g2', weight: 0 }], allow: ['http://*.example.com', 'http://g1', 'http://g2:3000/'],
      loadBalancing: 'two-choices', follow: 'long-poll', tries: 1, tryTimeout: 1, timeout: 86_400_000, snapshot: undefined as never,
      probe: { path: '', intervalMs: 100, timeoutMs: 1, expect: [200, 204], method: 'GET' }, storageKey: false,
    }))
    glbp.start()
    await vi.dynamicImportSettled()
    await world.pass(1000)
    expect(world.warnings.filter((text) => text.includes('options'))).toEqual([])
    expect(world.calls.length).toBeGreaterThan(3)
    glbp.stop()
  })
  it('changes nothing later: the options are the client\'s own', () => {
    const options = new World().options({ gateways: ['http://g1'], tries: 2 })
    const glbp = createGlbp(options)
    options.tries = 'many' as never
    expect((glbp as never as { options: GlbpOptions }).options.tries).toBe(2)
  })
})

describe('a snapshot that is none', () => {
  it.each([
    ['a text', 'pool'], ['a number', 7], ['an empty object', {}], ['a pool of null', { pool: null, at: 0 }],
    ['a pool without a stamp', { pool: { ...pool(), term: null }, at: 0 }], ['an empty pool', { pool: { ...pool(), gateways: [] }, at: 0 }],
    ['one that says the wrong of everything', { pool: pool({ urls: ['javascript:1', 'x', 'ftp://g'] }), at: 'x' }],
  ])('is left aside, told once, and the pool is fetched: %s', async (_, snapshot) => {
    const world = new World()
    cluster(world)
    const glbp = createGlbp(world.options({ snapshot: snapshot as never }))
    expect(world.warnings).toEqual([expect.stringMatching(/^options\.snapshot: the pool has no /)])
    expect(glbp.pool).toBeUndefined()
    glbp.start()
    await vi.dynamicImportSettled()
    await world.pass(500)
    expect(glbp.gateways).toHaveLength(3)
    expect(world.warnings).toHaveLength(1)
    glbp.stop()
  })
  it.each([['no JSON', '{'], ['null', 'null'], ['an empty pool', JSON.stringify({ schema: 1, at: Date.now(), pool: {} })],
    ['another schema', JSON.stringify({ schema: 9, at: Date.now(), pool: pool() })], ['huge', `"${'x'.repeat(1e6)}"`]])(
    'so is what storage holds: %s', (_, text) => {
      const world = new World()
      world.kept.set('glbp http://a1/pool/web,http://a2/pool/web,http://a3/pool/web', text)
      expect(createGlbp(world.options({ gateways: ['http://g9'] })).gateways[0]!.url).toBe('http://g9')
      expect(world.warnings).toEqual([])
    })
})
