import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build, createServer } from 'vite'
import { afterEach, describe, expect, it } from 'vitest'
import glbp, { configPath, parseFrontend } from '../src/vite/index.js'

const folders: string[] = []
afterEach(() => folders.splice(0).forEach((folder) => rmSync(folder, { recursive: true })))
function folder(config: string): string {
  const made = mkdtempSync(join(tmpdir(), 'glbp-vite-'))
  folders.push(made)
  writeFileSync(join(made, 'gateway.json'), config)
  writeFileSync(join(made, 'main.js'), 'import { agents, gateways } from "virtual:glbp"\nexport { agents, gateways }\n')
  return made
}
const GOOD = '{"frontend": {"agents": ["https://a1/pool/web"], "gateways": [{"url": "https://g1", "weight": 50}]}}'

describe('the path of a config', () => {
  it.each([
    ['C:\\ASR\\config\\gateway.json', '/app', 'C:\\ASR\\config\\gateway.json'],
    ['C:/ASR/config/../gateway.json', '/app', 'C:\\ASR\\gateway.json'],
    ['\\\\server\\share\\gateway.json', '/app', '\\\\server\\share\\gateway.json'],
    ['file:///C:/ASR/gateway.json', '/app', 'C:\\ASR\\gateway.json'],
    ['file:///etc/glbpd/gateway.json', '/app', '/etc/glbpd/gateway.json'],
    ['gateway.json', '/app', '/app/gateway.json'], ['..\\config\\gateway.json', '/app', '/config/gateway.json'],
    ['../gateway.json', 'C:\\app', 'C:\\gateway.json'], ['/etc/gateway.json', '/app', '/etc/gateway.json'],
  ])('%s from %s is %s', (path, root, where) => expect(configPath(path, root)).toBe(where))
  it('with a single backslash is told as that', () => {
    expect(() => configPath('C:\new\test', '/app')).toThrow(/twice.*C:\/ASR/)
  })
})

describe('the config', () => {
  it('may hold the section alone, and begin with a byte order mark', () => {
    expect(parseFrontend(`\uFEFF${GOOD}`, 'g.json')).toEqual({
      agents: ['https://a1/pool/web'], gateways: [{ url: 'https://g1', weight: 50 }],
    })
  })
  it('the example of the agent\'s tests is read', () => {
    const example = new URL('../../tests/golden/config/03-only-frontend.json', import.meta.url)
    expect(parseFrontend(readFileSync(example, 'utf8'), 'g.json').agents.length).toBeGreaterThan(0)
  })
  it.each([
    ['{\n"state_dir": "C:\\ASR\\config"}', /g\.json:2: .*twice/], ['{\n\n"state_dir": "C:\\new\\test"}', /g\.json:3: .*twice/],
    ['{"a": 1', /g\.json: /], ['{}', /no "frontend": add .*agents/], ['null', /no "frontend"/],
    ['{"frontend": {}}', /name agents or gateways/], ['{"frontend": {"agents": "x"}}', /as lists/],
    ['{"frontend": {"agents": ["ftp://a"]}}', /frontend: .*neither http/],
    ['{"frontend": {"gateways": [{"url": "http://g", "weight": -1}]}}', /frontend: .*weight/],
  ])('%j says what is wrong', (text, what) => expect(() => parseFrontend(text, 'g.json')).toThrow(what))
})

describe('the plugin', () => {
  it('builds the section into the page', async () => {
    const root = folder(GOOD)
    const made = await build({
      root, logLevel: 'silent', configFile: false, plugins: [glbp()],
      build: { write: false, minify: false, lib: { entry: join(root, 'main.js'), formats: ['es'] } },
    })
    const text = JSON.stringify(made)
    expect(text).toContain('https://a1/pool/web')
    expect(text).toContain('https://g1')
  })
  it('serves it and a proxy in development, and sees a change', async () => {
    const root = folder(GOOD)
    const server = await createServer({
      root, logLevel: 'silent', configFile: false, plugins: [glbp()], server: { middlewareMode: true, ws: false },
      optimizeDeps: { noDiscovery: true },
    })
    try {
      const [[path, proxy] = []] = Object.entries(server.config.server.proxy ?? {})
      expect(proxy).toMatchObject({ target: 'https://a1' })
      for (const url of ['/pool', '/pool/web?wait=30s', '/events/web']) expect(url).toMatch(new RegExp(path ?? ''))
      for (const url of ['/pools-page', '/my/pool', '/eventsource.js']) expect(url).not.toMatch(new RegExp(path ?? '.'))
      expect(await server.ssrLoadModule('virtual:glbp')).toMatchObject({ agents: ['https://a1/pool/web'] })
      writeFileSync(join(root, 'gateway.json'), GOOD.replace('a1', 'a2'))
      await expect.poll(async () => ((await server.ssrLoadModule('virtual:glbp')) as { agents: string[] }).agents[0],
        { timeout: 15_000, interval: 200 }).toBe('https://a2/pool/web')
    } finally {
      await server.close()
    }
  })
})
