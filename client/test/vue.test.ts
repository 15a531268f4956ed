/// <reference types="vite/client" />
import { afterEach, describe, expect, it, vi } from 'vitest'
import { createSSRApp, effectScope, watch } from 'vue'
import { createGlbp } from '../src/index.js'
import { createGlbpPlugin, useGLBP } from '../src/vue/index.js'
import { cluster, pool, World } from './world.js'

afterEach(() => {
  vi.unstubAllGlobals()
  vi.useRealTimers()
})

function setUp() {
  const world = new World()
  cluster(world)
  const glbp = createGlbp(world.options({ snapshot: { pool: pool(), at: 0 } }))
  const app = createSSRApp({})
  app.use(createGlbpPlugin(glbp))
  const use = () => {
    const scope = effectScope()
    return { scope, ...app.runWithContext(() => scope.run(useGLBP)!) }
  }
  return { world, glbp, use }
}

describe('useGLBP', () => {
  it('gives what is known, and renews it', async () => {
    vi.stubGlobal('window', new EventTarget())
    const { world, use } = setUp()
    const { gatewayPool, aliveCount, activeGateway, status, scope } = use()
    expect([gatewayPool.value.length, aliveCount.value, status.value]).toEqual([3, 3, 'ok'])
    let changes = 0
    watch(gatewayPool, () => changes++, { flush: 'sync' })
    world.hosts.set('http://g2', { status: 503 })
    await world.pass(12_000)
    expect(aliveCount.value).toBe(2)
    expect(changes).toBeGreaterThan(3)
    expect(activeGateway.value!.alive).toBe(true)
    scope.stop()
  })
  it('300 calls of getGateway spread: none of it is cached', () => {
    const { getGateway } = setUp().use()
    const urls = Array.from({ length: 300 }, () => getGateway().url)
    for (let k = 1; k <= 3; k++) expect(urls.filter((url) => url === `http://g${k}`).length).toBeGreaterThan(50)
  })
  it('50 components run one probe loop, and the last one stops it', async () => {
    vi.stubGlobal('window', new EventTarget())
    const { world, use } = setUp()
    const scopes = Array.from({ length: 50 }, () => use().scope)
    await world.pass(20_000)
    expect(world.count('http://g1', /health/)).toBeLessThan(7)
    scopes.forEach((scope) => scope.stop())
    expect(vi.getTimerCount()).toBe(0)
  })
  it('asks nothing on a server', async () => {
    const { world, use } = setUp()
    expect(use().getGateway().url).toMatch(/^http/)
    await world.pass(20_000)
    expect(world.calls).toHaveLength(0)
  })
  it('without the plugin says what to do', () => {
    const app = createSSRApp({})
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined)
    expect(() => app.runWithContext(useGLBP)).toThrow(/app\.use\(createGlbpPlugin/)
    warn.mockRestore()
  })
  it('of a client that a server has for all its requests leaves nothing behind of each', () => {
    const { glbp } = setUp()
    const on = vi.spyOn(glbp, 'on')
    const pools = Array.from({ length: 100 }, () => {
      const app = createSSRApp({})
      app.use(createGlbpPlugin(glbp))
      return app.runWithContext(useGLBP).gatewayPool
    })
    expect(on).not.toHaveBeenCalled()
    expect(new Set(pools).size).toBe(1)
  })
  it('its refs cannot be written', () => {
    const { gatewayPool, status } = setUp().use()
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined)
    for (const ref of [gatewayPool, status] as { value: unknown }[]) ref.value = []
    expect([gatewayPool.value.length, status.value]).toEqual([3, 'ok'])
    warn.mockRestore()
  })
  it('several apps have each their own', () => {
    expect(setUp().use().gatewayPool).not.toBe(setUp().use().gatewayPool)
  })
})

it('importing any of it touches no global', async () => {
  // These look for a document themselves.
  await Promise.all([import('vue'), import('axios'), import('@vue/devtools-api')])
  vi.resetModules()
  const touched: string[] = []
  for (const name of ['window', 'document', 'localStorage', 'fetch', 'navigator', 'BroadcastChannel', 'EventSource', 'location'])
    vi.stubGlobal(name, new Proxy(() => undefined, { get: (_, key) => touched.push(`${name}.${String(key)}`) }))
  const files = import.meta.glob('../src/**/*.ts')
  expect(Object.keys(files).length).toBeGreaterThan(20)
  for (const load of Object.values(files)) await load()
  expect(touched).toEqual([])
})
