import type { Plugin } from 'vite'
import { object, text } from '../check.js'
import { configPath, parseFrontend, readFrontend, type Frontend } from './config.js'

export { configPath, parseFrontend, type Frontend }

const MODULE = 'virtual:glbp'
const RESOLVED = `\0${MODULE}`

const PROXIED = '^/(pool|events)(/|\\?|$)'

export interface GlbpPluginOptions {
  /** The gateway.json; from Vite's root, `file:`, or a path of Windows. Default `gateway.json`. */
  config?: string
}

const check = object<GlbpPluginOptions>({ config: text })

/** `import { agents, gateways } from 'virtual:glbp'`: the section `frontend` of a gateway.json. */
export default function glbp(options: GlbpPluginOptions = {}): Plugin {
  check(options, 'glbp')
  const { config = 'gateway.json' } = options
  let file = ''
  return {
    name: 'glbp',
    config({ root = process.cwd() }, { command }) {
      file = configPath(config, root)
      const [agent] = command === 'serve' ? readFrontend(file).agents : []
      // In development the page may ask its own origin for the pool and its events, but for nothing else.
      const target = agent?.replace(/\/pool(\/[^/]*)?\/*$/, '')
      return target ? { server: { proxy: { [PROXIED]: { target, changeOrigin: true } } } } : {}
    },
    // The proxy stands in the server's config: as with Vite's own files, a change of this one starts the server anew.
    configResolved: ({ configFileDependencies }) => void configFileDependencies.push(file.replaceAll('\\', '/')),
    resolveId: (id) => (id === MODULE ? RESOLVED : undefined),
    load(id) {
      if (id !== RESOLVED) return undefined
      this.addWatchFile(file)
      const { agents, gateways } = readFrontend(file)
      return `export const agents = ${JSON.stringify(agents)}\nexport const gateways = ${JSON.stringify(gateways)}\n`
    },
  }
}
