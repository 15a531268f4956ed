import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build, createServer, type InlineConfig } from 'vite'
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
  it('that hangs on the folder in which somebody was on a drive is refused', () => {
    expect(() => configPath('C:new', '/app')).toThrow(/^C:new: which folder of C: .*C:\/ASR\/config/)
    expect(() => configPath('c:', 'C:\\app')).toThrow(/from the root/)
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
    ['{"frontend": {}}', /name agents or gateways/], ['{"frontend": {"agents": "x"}}', /g\.json: frontend\.agents: "x" is no list/],
    ['{"frontend": {"agents": [], "gateways": []}}', /name agents or gateways/],
    ['{"frontend": {"agents": ["ftp://a"]}}', /frontend\.agents\[0\]: .*neither http/],
    ['{"frontend": {"gateways": [{"url": "http://g", "weight": -1}]}}', /frontend\.gateways\[0\]\.weight: -1 is not .*65535/],
    ['{"frontend": {"gateways": [{"url": "http://g", "wieght": 1}]}}', /gateways\[0\]\.wieght: .*url, weight/],
    ['{"frontend": {"gateways": [{"weight": 1}]}}', /gateways\[0\]\.url: .*no url/],
    ['{"frontend": {"agent": ["http://a"]}}', /g\.json: frontend\.agent: .*not known there, as are agents, gateways/],
    ['{"frontend": []}', /frontend: .*no object/], ['', /g\.json: the file is empty: write .*agents/], ['\uFEFF \n', /is empty/],
  ])('%j says what is wrong', (text, what) => expect(() => parseFrontend(text, 'g.json')).toThrow(what))
})

describe('the plugin', () => {
  it('says which option is none', () => {
    expect(() => glbp({ confg: 'x' } as never)).toThrow(/glbp\.confg: "x" is not known there, as are config/)
    expect(() => glbp({ config: 7 as never })).toThrow(/glbp\.config: 7 is no string/)
  })
  it.each([['no file', 'none.json', /none\.json: there is no such file: name the gateway\.json/], ['a folder', '.', /that is a folder/]])(
    'says it when there is %s', async (_, config, text) => {
      const root = folder(GOOD)
      const options = { root, logLevel: 'silent', configFile: false, plugins: [glbp({ config })] } satisfies InlineConfig
      await expect(build({ ...options, build: { write: false, lib: { entry: join(root, 'main.js'), formats: ['es'] } } })).rejects.toThrow(text)
      await expect(createServer(options)).rejects.toThrow(text)
    })
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
      const target = () => (Object.values(server.config.server.proxy ?? {})[0] as { target: string }).target
      await expect.poll(target, { timeout: 15_000, interval: 200 }).toBe('https://a2')
      // What cannot be read changes nothing.
      writeFileSync(join(root, 'gateway.json'), '{')
      await new Promise((resolve) => setTimeout(resolve, 1000))
      expect(target()).toBe('https://a2')
      writeFileSync(join(root, 'gateway.json'), GOOD.replace('https://a1/pool', 'https://a3/glbp/pool'))
      await expect.poll(target, { timeout: 15_000, interval: 200 }).toBe('https://a3/glbp')
    } finally {
      await server.close()
    }
  })
})
