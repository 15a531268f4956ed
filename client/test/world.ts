import { vi } from 'vitest'
// Loaded here, so that the clock need not stand still for them.
import '../src/engine.js'
import '../src/hints.js'
import '../src/methods.js'
import '../src/push.js'
import '../src/tabs.js'
import '../src/unpack.js'
import type { Env, GlbpOptions, Pool } from '../src/types.js'

/** How a url answers: an answer, `down` (a network error) or `stall` (no answer at all). */
export type Answer = { status?: number; body?: unknown; ms?: number; headers?: Record<string, string> } | 'down' | 'stall'
export type Handler = Answer | ((request: { method: string; path: string; init: RequestInit }) => Answer)

/** A network with a clock that stands still, and chance from a seed. */
export class World {
  readonly hosts = new Map<string, Handler>()
  readonly calls: { origin: string; path: string; method: string; at: number; init: RequestInit }[] = []
  readonly warnings: string[] = []
  readonly kept = new Map<string, string>()
  open = 0
  /** Listeners that are on some signal given to fetch. */
  listeners = 0
  page: Env['page']
  /** The tabs' browser; undefined: one without channels and locks. */
  browser: Browser | undefined
  /** Streams of events that were opened. */
  readonly streams: FakeStream[] = []
  #seed: number

  constructor(seed = 1) {
    this.#seed = seed
    if (!vi.isFakeTimers()) vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] })
  }

  env(): Partial<Env> {
    return {
      fetch: (input, init) => this.#fetch(String(input), init ?? {}),
      random: () => this.random(),
      storage: () => ({
        getItem: (key) => this.kept.get(key) ?? null,
        setItem: (key, text) => void this.kept.set(key, text),
      }),
      warn: (text) => this.warnings.push(text),
      page: this.page,
      channel: (name) => {
        if (!this.browser) throw new ReferenceError('BroadcastChannel is not defined')
        return this.browser.channel(name)
      },
      locks: this.browser?.locks,
      events: (url) => {
        const stream = new FakeStream(url)
        this.streams.push(stream)
        return stream as unknown as EventSource
      },
    }
  }

  options(more: Partial<GlbpOptions> = {}): GlbpOptions {
    return { agents: ['http://a1/pool/web', 'http://a2/pool/web', 'http://a3/pool/web'], env: this.env(), ...more }
  }

  /** mulberry32 */
  random(): number {
    let t = (this.#seed = (this.#seed + 0x6d2b79f5) | 0)
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }

  count(origin: string, path?: RegExp): number {
    return this.calls.filter((call) => call.origin === origin && (!path || path.test(call.path))).length
  }

  async pass(ms: number): Promise<void> {
    await vi.advanceTimersByTimeAsync(ms)
  }

  #fetch(url: string, init: RequestInit): Promise<Response> {
    const { origin, pathname, search } = new URL(url)
    const path = pathname + search
    const method = init.method ?? 'GET'
    this.calls.push({ origin, path, method, at: Date.now(), init })
    const handler = this.hosts.get(origin) ?? 'down'
    const answer = typeof handler === 'function' ? handler({ method, path, init }) : handler
    const { signal } = init
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      this.open++
      const timer = answer === 'stall' ? undefined : setTimeout(() => {
        done()
        if (answer === 'down') return reject(new TypeError('Failed to fetch'))
        const { status = 200, body = '', headers = {} } = answer
        const text = typeof body === 'string' ? body : JSON.stringify(body)
        resolve(new Response(method === 'HEAD' || status === 204 || status === 304 ? null : text, { status, headers }))
      }, answer === 'down' ? 1 : (answer.ms ?? 2))
      const onAbort = () => {
        done()
        reject(signal!.reason)
      }
      const done = () => {
        clearTimeout(timer)
        this.open--
        this.listeners--
        signal?.removeEventListener('abort', onAbort)
      }
      this.listeners++
      signal?.addEventListener('abort', onAbort)
    })
  }
}

export function pool(more: Partial<Pool> & { weights?: number[]; urls?: string[] } = {}): Pool {
  const { weights = [100, 100, 100], urls = weights.map((_, k) => `http://g${k + 1}`), ...rest } = more
  return {
    group: 'web', id: 10, term: 1000, avg: 'bff-1', version: 1, standby: 'bff-2', load_balancing: 'weighted',
    members: 3, majority: true, lone: false, degraded: false, refresh_ms: 5000, hold_ms: 3500,
    gateways: weights.map((weight, k) => ({
      slot: k + 1, id: `bff-${k + 1}`, owner: `bff-${k + 1}`, url: urls[k]!, weight, alive: true, latency: 2,
      state: 'active',
    })),
    agents: [], ...rest,
  }
}

/** Three agents that serve `served()`, three gateways that answer 200 and say who they are. */
export function cluster(world: World, served: () => Pool = () => pool(), gateways = 3): void {
  for (let k = 1; k <= 3; k++) world.hosts.set(`http://a${k}`, () => ({ body: served() }))
  for (let k = 1; k <= gateways; k++) world.hosts.set(`http://g${k}`, { body: `g${k}` })
}

/** A document and a window that can be told what happens. */
export function fakePage(origin = 'http://page', protocol = 'http:') {
  const document = Object.assign(new EventTarget(), { visibilityState: 'visible' })
  const window = Object.assign(new EventTarget(), { location: { protocol, origin } })
  const show = (state: string) => {
    document.visibilityState = state
    document.dispatchEvent(new Event('visibilitychange'))
  }
  return { page: { document, window } as never, window, document, show }
}

/** What the tabs of one browser share. */
export class Browser {
  readonly open = new Set<{ name: string; onmessage: ((event: { data: unknown }) => void) | null }>()
  readonly #queues = new Map<string, Promise<unknown>>()
  locks: Env['locks']

  constructor(locks = true) {
    const request = (name: string, { signal }: LockOptions, run: () => unknown) => {
      const before = this.#queues.get(name) ?? Promise.resolve()
      const mine = before.then(() => {
        if (signal?.aborted) throw signal.reason
        return run()
      })
      this.#queues.set(name, mine.catch(() => undefined))
      return mine
    }
    this.locks = locks ? ({ request } as never) : undefined
  }

  channel(name: string): BroadcastChannel {
    const own = {
      name,
      onmessage: null as ((event: { data: unknown }) => void) | null,
      postMessage: (message: unknown) => {
        const data = structuredClone(message)
        for (const other of this.open) {
          if (other !== own && other.name === name) queueMicrotask(() => this.open.has(other) && other.onmessage?.({ data }))
        }
      },
      close: () => this.open.delete(own),
    }
    this.open.add(own)
    return own as unknown as BroadcastChannel
  }
}

/** An EventSource that does what a test says. */
export class FakeStream extends EventTarget {
  readyState = 0

  constructor(readonly url: string) {
    super()
  }

  send(value: unknown): void {
    this.readyState = 1
    this.dispatchEvent(Object.assign(new Event('pool'), { data: typeof value === 'string' ? value : JSON.stringify(value) }))
  }

  /** @param good whether it has closed for good, as after 503. */
  break(good: boolean): void {
    this.readyState = good ? 2 : 0
    this.dispatchEvent(new Event('error'))
  }

  close(): void {
    this.readyState = 2
  }
}
