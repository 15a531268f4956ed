import axios from 'axios'
import axiosRetry from 'axios-retry'
import ky from 'ky'
import { createFetch } from 'ofetch'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { glbpAdapter } from '../src/axios/index.js'
import { createGlbp, type Glbp, type GlbpOptions } from '../src/index.js'
import { cluster, fakePage, pool, World, type Handler } from './world.js'

let glbp: Glbp | undefined
afterEach(() => {
  glbp?.stop()
  vi.useRealTimers()
})
async function begin(world: World, more: Partial<GlbpOptions> = {}) {
  world.page = fakePage('https://shop.example.com').page
  glbp = createGlbp(world.options(more))
  glbp.start()
  await vi.dynamicImportSettled()
  await world.pass(100)
  return glbp
}
/** Lets the clock run while others do what they do in tasks of their own. */
async function settle(world: World, promise: Promise<unknown>) {
  promise.catch(() => undefined)
  for (let k = 0; k < 40; k++) {
    await new Promise((resolve) => setImmediate(resolve))
    await world.pass(500)
  }
  return promise
}
/** As a browser sees a server that does not allow its origin: opaque by no-cors, else an error. */
const forbidding: Handler = ({ init }) => (init.mode === 'no-cors' ? {} : 'down')

describe('wrong CORS is a hint, not a mystery', () => {
  it('of an agent: what to set in its gateway.json, once', async () => {
    const world = new World()
    cluster(world)
    world.hosts.set('http://a2', forbidding)
    for (const agent of ['http://a1', 'http://a3']) world.hosts.set(agent, 'down')
    await begin(world, { gateways: ['http://g1'] })
    await world.pass(120_000)
    const hints = world.warnings.filter((text) => text.includes('CORS'))
    expect(hints).toEqual([expect.stringMatching(
      /^http:\/\/a2 is up, but .*https:\/\/shop\.example\.com .*http\.cors.*gateway\.json/)])
  })
  it('of a gateway: which header it has to send, once, and that is all of it', async () => {
    const world = new World()
    cluster(world)
    world.hosts.set('http://g2', forbidding)
    await begin(world)
    await world.pass(120_000)
    const hints = world.warnings.filter((text) => text.includes('CORS'))
    expect(hints).toEqual([expect.stringMatching(
      /^http:\/\/g2 is up, but .*"Access-Control-Allow-Origin: https:\/\/shop\.example\.com".*\/health/)])
  })
  it('is not told of what is down, or once was readable', async () => {
    const world = new World()
    cluster(world)
    world.hosts.set('http://g1', 'down')
    await begin(world)
    await world.pass(10_000)
    world.hosts.set('http://g3', forbidding)
    await world.pass(60_000)
    expect(world.warnings.filter((text) => text.includes('CORS'))).toEqual([])
    expect(world.calls.filter(({ init }) => init.mode === 'no-cors').every(({ origin }) => origin === 'http://g1')).toBe(true)
  })
  it('costs nothing on a server, where there is no CORS', async () => {
    const world = new World()
    cluster(world)
    world.hosts.set('http://g1', 'down')
    glbp = createGlbp(world.options())
    glbp.start()
    await world.pass(60_000)
    expect(world.calls.some(({ init }) => init.mode === 'no-cors')).toBe(false)
  })
})

describe('retries above the client', () => {
  const snapshot = { pool: pool(), at: 0 }
  async function failing() {
    const world = new World()
    const client = await begin(world, { snapshot, agents: [], gateways: ['http://g1'] })
    for (let k = 1; k <= 3; k++) world.hosts.set(`http://g${k}`, { status: 503 })
    return { world, client, told: () => world.warnings.filter((text) => text.includes('multiply')) }
  }
  it('of ky are warned of, once', async () => {
    const { world, client, told } = await failing()
    const http = ky.create({ fetch: client.fetch, prefixUrl: 'http://g1/' })
    for (let k = 0; k < 3; k++) await settle(world, http.get('api')).catch(() => undefined)
    expect(told()).toEqual([expect.stringMatching(/^ky sends a request again .*retry to 0/)])
  })
  it('of ofetch are warned of, once', async () => {
    const { world, client, told } = await failing()
    const http = createFetch({ fetch: client.fetch, Headers, AbortController })
    for (let k = 0; k < 3; k++) await settle(world, http('/api')).catch(() => undefined)
    expect(told()).toHaveLength(1)
  })
  it('of axios-retry are warned of by the adapter', async () => {
    const { world, client } = await failing()
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined)
    const http = axios.create({ adapter: glbpAdapter(client) })
    ;((axiosRetry as never as { default?: typeof axiosRetry }).default ?? axiosRetry)(http, { retries: 2 })
    for (let k = 0; k < 2; k++) await settle(world, http.get('/api')).catch(() => undefined)
    expect(warn.mock.calls.filter(([text]) => /axios-retry/.test(String(text)))).toHaveLength(1)
    warn.mockRestore()
  })
  it('are not seen where a page polls one path, fast or slowly', async () => {
    const { world, client, told } = await failing()
    for (const pause of [50, 100, 300, 1000]) {
      for (let k = 0; k < 20; k++) {
        client.fetch('/api/whoami').catch(() => undefined)
        await world.pass(pause)
      }
      for (let k = 0; k < 5; k++) {
        await settle(world, client.fetch('/api/whoami')).catch(() => undefined)
        await world.pass(pause)
      }
    }
    expect(told()).toEqual([])
  })
  it('are not seen where an application asks now and then', async () => {
    const { world, client, told } = await failing()
    for (let k = 0; k < 5; k++) {
      await settle(world, client.fetch('/api')).catch(() => undefined)
      await world.pass(3000)
    }
    await Promise.all(Array.from({ length: 5 }, (_, k) => settle(world, client.fetch(`/api/${k}`))))
    expect(told()).toEqual([])
  })
})
