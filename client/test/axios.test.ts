import axios, { AxiosError } from 'axios'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { glbpAdapter } from '../src/axios/index.js'
import { createGlbp } from '../src/index.js'
import { cluster, pool, World } from './world.js'

afterEach(() => void vi.useRealTimers())

function setUp(config = {}) {
  const world = new World()
  cluster(world)
  const glbp = createGlbp(world.options({ snapshot: { pool: pool(), at: 0 } }))
  return { world, http: axios.create({ adapter: glbpAdapter(glbp), ...config }) }
}
async function settle<T>(world: World, promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined)
  // Axios does some of its work in tasks of its own.
  for (let k = 0; k < 20; k++) {
    await new Promise((resolve) => setImmediate(resolve))
    await world.pass(1000)
  }
  return promise
}

describe('the axios adapter', () => {
  it('sends path, query, headers and body to a gateway', async () => {
    const { world, http } = setUp()
    for (let k = 1; k <= 3; k++) world.hosts.set(`http://g${k}`, { body: { ok: 1 } })
    const answer = await settle(world, http.post('/api/x', { a: 1 }, { params: { q: 'y' }, headers: { 'X-A': 'b' } }))
    expect(answer.data).toEqual({ ok: 1 })
    const { path, method, init } = world.calls[0]!
    expect([path, method, init.body]).toEqual(['/api/x?q=y', 'POST', '{"a":1}'])
    expect(new Headers(init.headers).get('X-A')).toBe('b')
    expect(world.calls).toHaveLength(1)
  })
  it('puts a baseURL that is a path before it, once', async () => {
    const { world, http } = setUp({ baseURL: '/v1' })
    await settle(world, http.get('/x'))
    expect(world.calls[0]!.path).toBe('/v1/x')
  })
  it('says what is wrong with a baseURL of somebody else, and takes a gateway\'s for its path', async () => {
    const { world, http } = setUp({ baseURL: 'https://old.example.com/v1' })
    await expect(settle(world, http.get('/x?token=secret'))).rejects.toMatchObject({
      message: expect.stringMatching(/^glbp: https:\/\/old\.example\.com\/v1\/x is neither a path nor a url of a gateway .*path alone$/) as string,
    })
    expect(world.calls).toEqual([])
    await settle(world, http.get('/x', { baseURL: 'http://g2/v1' }))
    expect(world.calls.map(({ path }) => path)).toEqual(['/v1/x'])
  })
  it('needs one gateway of three', async () => {
    const { world, http } = setUp()
    world.hosts.set('http://g1', 'down').set('http://g3', { status: 503 })
    for (let k = 0; k < 5; k++) expect((await settle(world, http.get('/x'))).data).toBe('g2')
  })
  it('sends credentials where axios is told to', async () => {
    const { world, http } = setUp()
    await settle(world, http.get('/x', { withCredentials: true }))
    await settle(world, http.get('/x'))
    expect(world.calls.map(({ init }) => init.credentials)).toEqual(['include', undefined])
  })
  it('warns once where axios-retry stands above it', async () => {
    const { world, http } = setUp()
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined)
    http.interceptors.request.use((config) => Object.assign(config, { 'axios-retry': { retries: 3 } }))
    for (let k = 0; k < 3; k++) await settle(world, http.get('/x'))
    expect(warn.mock.calls).toEqual([[expect.stringMatching(/axios-retry/)]])
    warn.mockRestore()
  })
  it('a status of failure and an abort are axios\'s errors', async () => {
    const { world, http } = setUp()
    for (let k = 1; k <= 3; k++) world.hosts.set(`http://g${k}`, { status: 404 })
    await expect(settle(world, http.get('/x'))).rejects.toMatchObject({ response: { status: 404 } })
    const abort = new AbortController()
    const call = http.get('/x', { signal: abort.signal })
    abort.abort()
    await expect(settle(world, call)).rejects.toThrow(axios.CanceledError)
    for (let k = 1; k <= 3; k++) world.hosts.set(`http://g${k}`, 'down')
    await expect(settle(world, http.get('/x'))).rejects.toThrow(AxiosError)
  })
})
