import { setupDevtoolsPlugin } from '@vue/devtools-api'
import type { App } from 'vue'
import type { Glbp, GlbpEvents } from '../index.js'

const ID = 'glbp'
const BAD = new Set(['change', 'degraded', 'offline', 'failover'])

/** An inspector of the gateways, and a timeline of what happens. */
export function addDevtools(app: App, glbp: Glbp): void {
  const descriptor = { id: ID, label: 'GLBP', packageName: 'glbp-client', app: app as never }
  setupDevtoolsPlugin(descriptor, (api) => {
    api.addInspector({ id: ID, label: 'GLBP', icon: 'hub' })
    api.addTimelineLayer({ id: ID, label: 'GLBP', color: 0x2f7d5b })
    api.on.getInspectorTree((payload) => {
      if (payload.inspectorId === ID) payload.rootNodes = tree(glbp) as never
    })
    api.on.getInspectorState((payload) => {
      if (payload.inspectorId === ID) payload.state = state(glbp, payload.nodeId) as never
    })
    const happened = (title: string, data: object, subtitle: string) => {
      const time = Date.now()
      api.addTimelineEvent({ layerId: ID, event: { time, title, subtitle, data, logType: BAD.has(title) ? 'warning' : 'default' } })
    }
    const renew = () => {
      api.sendInspectorTree(ID)
      api.sendInspectorState(ID)
    }
    glbp.on('pool', (pool) => happened('pool', pool, `version ${pool.version} of ${pool.avg}`))
    glbp.on('change', (gateway) => happened('change', gateway, `${gateway.url} is ${gateway.state}`))
    glbp.on('failover', (event) => happened('failover', event, `${event.from} to ${event.to}: ${event.reason}`))
    for (const type of ['degraded', 'recovered', 'offline'] as const) glbp.on(type, () => happened(type, {}, ''))
    for (const type of ['pool', 'change', 'probe'] satisfies (keyof GlbpEvents)[]) glbp.on(type, renew)
  })
}

/** The pool, and below it the gateways. */
function tree(glbp: Glbp): object[] {
  const label = glbp.pool ? `pool ${glbp.pool.group || '(static list)'}` : 'no pool'
  return [{
    id: 'pool',
    label,
    tags: [{ label: glbp.status, textColor: 0xffffff, backgroundColor: glbp.status === 'ok' ? 0x2f7d5b : 0xb3362b }],
    children: glbp.gateways.map(({ url, alive, state: how }) => ({
      id: url,
      label: url,
      tags: [{ label: how, textColor: 0xffffff, backgroundColor: alive ? 0x2f7d5b : 0xb3362b }],
    })),
  }]
}

/** What is known of a node of the tree. */
function state(glbp: Glbp, id: string): Record<string, { key: string; value: unknown }[]> {
  const rows = (from: object) => Object.entries(from).map(([key, value]) => ({ key, value: value as unknown }))
  const gateway = glbp.explain().find(({ url }) => url === id)
  return gateway ? { gateway: rows(gateway) } : { client: rows({ status: glbp.status }), pool: rows(glbp.pool ?? {}) }
}
