import { afterEach, expect, it, vi } from 'vitest'
import { cluster, pool, World } from './world.js'

afterEach(() => {
  vi.doUnmock('../src/methods.js')
  vi.resetModules()
  vi.useRealTimers()
})

it('where the ways to choose cannot be had, requests go on, weighted', async () => {
  const world = new World()
  cluster(world)
  vi.resetModules()
  vi.doMock('../src/methods.js', () => {
    throw new TypeError('Failed to fetch dynamically imported module')
  })
  const { createGlbp } = await import('../src/index.js')
  const glbp = createGlbp(world.options({ snapshot: { pool: pool({ load_balancing: 'round-robin' }), at: 0 } }))
  await vi.dynamicImportSettled()
  const call = glbp.fetch('/api')
  call.catch(() => undefined)
  await vi.dynamicImportSettled()
  await world.pass(100)
  expect((await call).status).toBe(200)
})
