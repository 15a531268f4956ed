import { readFileSync } from 'node:fs'
import type { Plugin } from 'vite'
import { configPath, parseFrontend, type Frontend } from './config.js'

export { configPath, parseFrontend, type Frontend }

const MODULE = 'virtual:glbp'
const RESOLVED = `\0${MODULE}`

const PROXIED = '^/(pool|events)(/|\\?|$)'

export interface GlbpPluginOptions {
  /** The gateway.json; from Vite's root, `file:`, or a path of Windows. Default `gateway.json`. */
  config?: string
}

/** `import { agents, gateways } from 'virtual:glbp'`: the section `frontend` of a gateway.json. */
export default function glbp({ config = 'gateway.json' }: GlbpPluginOptions = {}): Plugin {
  let file = ''
  const read = () => parseFrontend(readFileSync(file, 'utf8'), file)
  return {
    name: 'glbp',
    config({ root = process.cwd() }, { command }) {
      file = configPath(config, root)
      const [agent] = command === 'serve' ? read().agents : []
      // In development the page may ask its own origin for the pool and its events, but for nothing else.
      return agent ? { server: { proxy: { [PROXIED]: { target: new URL(agent).origin, changeOrigin: true } } } } : {}
    },
    resolveId: (id) => (id === MODULE ? RESOLVED : undefined),
    load(id) {
      if (id !== RESOLVED) return undefined
      this.addWatchFile(file)
      const { agents, gateways } = read()
      return `export const agents = ${JSON.stringify(agents)}\nexport const gateways = ${JSON.stringify(gateways)}\n`
    },
  }
}
