import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { createGlbp, type GlbpOptions } from '../src/index.js'

// Against a real agent: GLBPD=build/release/bin/glbpd npx vitest run test/agent.test.ts
const { GLBPD } = process.env

/** What of an EventSource the client uses, on fetch: Node 20 has none. */
class NodeEvents extends EventTarget {
  readyState = 0
  readonly #abort = new AbortController()

  constructor(url: string) {
    super()
    void this.#read(url).catch(() => undefined).then(() => this.#fail())
  }

  async #read(url: string): Promise<void> {
    const { body, ok } = await fetch(url, { headers: { Accept: 'text/event-stream' }, signal: this.#abort.signal })
    if (!ok) return
    this.readyState = 1
    let text = ''
    const decoder = new TextDecoder()
    for await (const part of body as unknown as AsyncIterable<Uint8Array>) {
      const blocks = (text + decoder.decode(part, { stream: true })).split('\n\n')
      text = blocks.pop()!
      for (const block of blocks) this.#dispatch(block)
    }
  }

  #dispatch(block: string): void {
    const field = (name: string) => block.split('\n').find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2)
    const data = field('data')
    if (data) this.dispatchEvent(Object.assign(new Event(field('event') ?? 'message'), { data }))
  }

  #fail(): void {
    if (this.readyState === 2) return
    this.readyState = 2
    this.dispatchEvent(new Event('error'))
  }

  close(): void {
    this.readyState = 2
    this.#abort.abort()
  }
}

describe.skipIf(!GLBPD)('a real agent', () => {
  const folder = mkdtempSync(join(tmpdir(), 'glbp-client-'))
  let agent: ChildProcess
  let bff: Server
  let url: string
  let healthy = true

  beforeAll(async () => {
    bff = createServer((_, answer) => void answer.writeHead(healthy ? 200 : 503).end('hello')).listen(0, '127.0.0.1')
    await new Promise((resolve) => bff.once('listening', resolve))
    const port = 20_000 + (process.pid % 20_000)
    const gateway = `http://127.0.0.1:${(bff.address() as AddressInfo).port}`
    url = `http://127.0.0.1:${port}/pool/web`
    writeFileSync(join(folder, 'gateway.json'), JSON.stringify({
      node: 'bff-1', state_dir: '', control: '', transport: { listen: `127.0.0.1:${port}`, peers: ['127.0.0.1'] },
      http: { listen: `127.0.0.1:${port}`, admin_listen: '' },
      groups: [{ name: 'web', id: 10, url: gateway, timers: { hello_ms: 100, hold_ms: 500 }, refresh_ms: 60_000,
        checks: [{ url: `${gateway}/health`, interval_ms: 100 }] }],
    }))
    agent = spawn(GLBPD!, ['-c', join(folder, 'gateway.json')], { stdio: 'ignore' })
    await vi.waitFor(async () => expect((await fetch(url)).ok).toBe(true), { timeout: 20_000, interval: 50 })
  })
  afterAll(() => {
    agent.kill()
    bff.close()
    bff.closeAllConnections()
    rmSync(folder, { recursive: true })
  })

  it.each(['events', 'long-poll'] as const)('its news come by %s long before the next poll', async (follow) => {
    const env: GlbpOptions['env'] = { events: (stream) => new NodeEvents(stream) as unknown as EventSource, warn: () => undefined }
    const glbp = createGlbp({ agents: [url], follow, storageKey: false, env })
    glbp.start()
    try {
      // A request of before there is a pool waits for it.
      expect(await (await glbp.fetch('/api')).text()).toBe('hello')
      const version = () => glbp.pool?.version ?? 0
      for (const next of [false, true, false, true]) {
        const before = version()
        healthy = next
        await expect.poll(version, { timeout: 10_000, interval: 20 }).toBeGreaterThan(before)
        await expect.poll(() => glbp.pool?.gateways[0]?.alive, { timeout: 10_000, interval: 20 }).toBe(next)
      }
    } finally {
      glbp.stop()
    }
  })
})
