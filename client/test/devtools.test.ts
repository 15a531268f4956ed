// @vitest-environment happy-dom
// The devtools that run in a page, less the panel: what their api says is what the panel shows.
import { devtools, devtoolsPluginBuffer, setDevToolsEnv, updateDevToolsState, updateTimelineLayersState } from '@vue/devtools-kit'
import { afterEach, beforeAll, expect, it, vi } from 'vitest'
import { createApp } from 'vue'
import { createGlbp } from '../src/index.js'
import { addDevtools } from '../src/vue/devtools.js'
import { createGlbpPlugin } from '../src/vue/index.js'
import { cluster, World } from './world.js'

// In Node, @vue/devtools-api is empty; this is all that it holds in a browser.
vi.mock('@vue/devtools-api', async () => {
  const { setupDevToolsPlugin } = await import('@vue/devtools-kit')
  return { setupDevtoolsPlugin: setupDevToolsPlugin }
})

beforeAll(() => {
  setDevToolsEnv({ vitePluginDetected: true })
  devtools.init()
  updateDevToolsState({ highPerfModeEnabled: false }) // as an open panel does
})
afterEach(() => {
  vi.unstubAllGlobals()
  vi.unstubAllEnvs()
  vi.useRealTimers()
})

it('an inspector shows the pool and its gateways, a timeline what happens', async () => {
  const world = new World()
  cluster(world)
  const glbp = createGlbp(world.options())
  const app = createApp({ render: () => 'an app' })
  const titles: string[] = []
  devtools.ctx.hooks.hook('sendTimelineEventToClient' as never, ((options: { layerId: string; event: { title: string } }) =>
    void titles.push(`${options.layerId} ${options.event.title}`)) as never)
  addDevtools(app, glbp)
  app.mount(document.createElement('div'))
  await world.pass(1)
  updateTimelineLayersState({ recordingState: true, glbp: true }) // as a click on the layer does
  glbp.start()
  await vi.dynamicImportSettled()
  await world.pass(100)
  expect(await devtools.api.getInspectorTree({ inspectorId: 'glbp', filter: '' })).toMatchObject([
    { label: 'pool web', children: [{ id: 'http://g1' }, { id: 'http://g2' }, { id: 'http://g3' }] },
  ])
  expect(await devtools.api.getInspectorState({ inspectorId: 'glbp', nodeId: 'pool' }))
    .toMatchObject({ pool: expect.arrayContaining([{ key: 'version', value: 1 }]) })
  const alive = async (value: boolean) =>
    expect(await devtools.api.getInspectorState({ inspectorId: 'glbp', nodeId: 'http://g1' }))
      .toMatchObject({ gateway: expect.arrayContaining([{ key: 'alive', value }]) })
  await alive(true)
  expect(titles).toEqual(['glbp pool'])
  world.hosts.set('http://g1', { status: 503 })
  await world.pass(12_000)
  await alive(false)
  expect(titles).toEqual(['glbp pool', 'glbp change'])
  expect(await devtools.api.getInspectorTree({ inspectorId: 'pinia', filter: '' })).toEqual([])
  glbp.stop()
})
it('comes with the plugin in development only, and never on a server', async () => {
  const world = new World()
  const install = async () => {
    const before = devtoolsPluginBuffer.length
    createApp({}).use(createGlbpPlugin(createGlbp(world.options())))
    await vi.dynamicImportSettled()
    return devtoolsPluginBuffer.length - before
  }
  vi.stubEnv('NODE_ENV', 'production')
  expect(await install()).toBe(0)
  vi.stubEnv('NODE_ENV', 'development')
  expect(await install()).toBe(1)
  vi.stubGlobal('window', undefined)
  expect(await install()).toBe(0)
})
