import { beforeEach, expect, it, vi } from 'vitest'
import { createSSRApp } from 'vue'
import { createGlbp } from '../src/index.js'
import { addDevtools, state, tree } from '../src/vue/devtools.js'
import { createGlbpPlugin } from '../src/vue/index.js'
import { cluster, pool, World } from './world.js'

const api = {
  addInspector: vi.fn(), addTimelineLayer: vi.fn(), addTimelineEvent: vi.fn(), sendInspectorTree: vi.fn(),
  sendInspectorState: vi.fn(), on: { getInspectorTree: vi.fn(), getInspectorState: vi.fn() },
}
const setup = vi.hoisted(() => vi.fn())
vi.mock('@vue/devtools-api', () => ({ setupDevtoolsPlugin: setup }))
beforeEach(() => {
  vi.clearAllMocks()
  setup.mockImplementation((_: unknown, run: (given: typeof api) => void) => run(api))
})

it('an inspector shows the pool and its gateways', () => {
  const world = new World()
  cluster(world)
  const glbp = createGlbp(world.options({ snapshot: { pool: pool(), at: 0 } }))
  addDevtools(createSSRApp({}), glbp)
  expect(setup.mock.calls[0]![0]).toMatchObject({ id: 'glbp', packageName: 'glbp-client' })
  const payload = { inspectorId: 'glbp', rootNodes: [] as ReturnType<typeof tree> }
  api.on.getInspectorTree.mock.calls[0]![0](payload)
  expect(payload.rootNodes).toEqual(tree(glbp))
  expect(payload.rootNodes[0]).toMatchObject({ label: 'pool web', children: [{ id: 'http://g1' }, {}, {}] })
  expect(state(glbp, 'http://g1')).toMatchObject({ gateway: expect.arrayContaining([{ key: 'alive', value: true }]) })
  expect(state(glbp, 'pool')).toMatchObject({ pool: expect.arrayContaining([{ key: 'version', value: 1 }]) })
  const others = { inspectorId: 'pinia', rootNodes: [] }
  api.on.getInspectorTree.mock.calls[0]![0](others)
  expect(others.rootNodes).toEqual([])
})
it('a timeline tells what happens', async () => {
  const world = new World()
  cluster(world)
  const glbp = createGlbp(world.options())
  addDevtools(createSSRApp({}), glbp)
  glbp.start()
  await vi.dynamicImportSettled()
  await world.pass(100)
  world.hosts.set('http://g1', { status: 503 })
  await world.pass(12_000)
  glbp.stop()
  const titles = api.addTimelineEvent.mock.calls.map(([{ event }]) => event.title)
  expect(titles).toEqual(['pool', 'change'])
  expect(api.sendInspectorTree).toHaveBeenCalled()
  vi.useRealTimers()
})
it('comes with the plugin in development only, and never on a server', async () => {
  const world = new World()
  const install = async () => {
    createSSRApp({}).use(createGlbpPlugin(createGlbp(world.options())))
    await vi.dynamicImportSettled()
    return setup.mock.calls.length
  }
  expect(await install()).toBe(0)
  vi.stubGlobal('window', new EventTarget())
  vi.stubEnv('NODE_ENV', 'production')
  expect(await install()).toBe(0)
  vi.stubEnv('NODE_ENV', 'development')
  expect(await install()).toBe(1)
  vi.unstubAllGlobals()
  vi.unstubAllEnvs()
  vi.useRealTimers()
})
