import type { GlbpOptions } from 'glbp-client'
import { agents, gateways } from 'virtual:glbp'

/** What the page's server knows better than the page's build: config.json. */
export interface Settings {
  options: GlbpOptions
  /** Nodes that the server can harm and mend, name and url; empty where it cannot. */
  nodes: Record<string, string>
}

/** The server's config.json; without one, the section `frontend` of this folder's gateway.json. */
export async function readSettings(): Promise<Settings> {
  try {
    const answer = await fetch('config.json', { cache: 'no-store' })
    if (answer.ok) {
      const { nodes = {}, ...options } = (await answer.json()) as GlbpOptions & Partial<Pick<Settings, 'nodes'>>
      return { options, nodes }
    }
  } catch {
    // A server that knows only files answers with anything: what was built in holds.
  }
  return { options: { agents, gateways }, nodes: {} }
}
