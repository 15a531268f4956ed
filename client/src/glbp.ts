import { Budget } from './budget.js'
import { Choice } from './choice.js'
import { Emitter } from './emitter.js'
import { defaultEnv } from './env.js'
import { Exchange, type Exchanger } from './exchange.js'
import { Follower } from './follow.js'
import { Registry, type Health } from './health.js'
import { watchPage } from './page.js'
import { parsePool, staticPool } from './pool.js'
import { Prober } from './probes.js'
import { plan } from './request.js'
import { Store } from './store.js'
import type {
  Env, Explanation, Gateway, GlbpEvents, GlbpInit, GlbpOptions, LoadBalancing, Pool, Snapshot, Status,
} from './types.js'
import { vetUrl, type UrlRules } from './url.js'

const METHODS = new Set<string>(['weighted', 'round-robin', 'host-dependent', 'best', 'two-choices'])

/** The client's face; what it does between `start` and `stop` it does by itself. */
export interface Glbp {
  /** Begins to follow and to probe. Counted: it takes as many `stop`s to end. */
  start(): void
  stop(): void
  readonly status: Status
  /** The pool in use; undefined before there was any. */
  readonly pool: Pool | undefined
  readonly gateways: Gateway[]
  /** Who would be the best now. */
  readonly active: Gateway | undefined
  /** The gateway for the next request: another one each time. @throws Error when there is no pool at all. */
  pick(key?: string): Gateway
  /** fetch, for a path: the gateway is chosen, and another one takes over where it fails. */
  fetch(input: RequestInfo | URL, init?: GlbpInit): Promise<Response>
  on<K extends keyof GlbpEvents>(type: K, listener: (event: GlbpEvents[K]) => void): () => void
  /** What a page needs to begin with this client's pool. */
  snapshot(): Snapshot | undefined
  /** How the next pick is weighed. */
  explain(): Explanation[]
}

class Client implements Glbp {
  readonly #env: Env
  readonly #events = new Emitter()
  readonly #registry: Registry
  readonly #choice: Choice
  readonly #prober: Prober
  readonly #follower: Follower
  readonly #store: Store
  readonly #exchanger: Exchanger
  #pool: Pool | undefined
  #started = 0
  #unwatch: (() => void) | undefined
  #status: Status = 'starting'

  constructor(options: GlbpOptions) {
    const env = (this.#env = { ...defaultEnv(), ...options.env })
    const { agents = [], gateways = [], allow } = options
    if (!agents.length && !gateways.length && !options.snapshot)
      throw new Error('glbp: name at least one url in `agents` or `gateways`')
    const secure = env.page?.window?.location?.protocol === 'https:'
    const rules: UrlRules = { allow, secure }
    this.#registry = new Registry(env, (health) => this.#changed(health))
    this.#choice = new Choice(this.#registry, env, () => this.#method(options.loadBalancing))
    this.#prober = new Prober(this.#registry, env, (health) => this.#events.emit('probe', health.view()),
      options.probe)
    this.#store = new Store(env, options.storageKey ?? 'glbp', rules)
    this.#follower = new Follower({
      seeds: agents.map((url) => vetUrl(url)), rules, env,
      onPool: (pool) => this.#use(pool),
      onDropped: (reason) => env.warn(reason),
    })
    this.#exchanger = {
      env, registry: this.#registry, choice: this.#choice, budget: new Budget(() => env.now()),
      tries: options.tries ?? 3, tryTimeout: options.tryTimeout ?? 10_000, timeout: options.timeout ?? 15_000,
      clientId: () => this.#store.clientId,
      suspect: (health) => this.#prober.probe(health),
      failover: (event) => this.#events.emit('failover', event),
    }
    const first = options.snapshot ? parsePool(options.snapshot.pool, rules) : this.#store.pool
    if (first) this.#follower.acceptor.adopt(first, env.now())
    const pool = first ?? (gateways.length ? staticPool(gateways) : undefined)
    if (pool) this.#adopt(pool)
    this.#store.recall(this.#registry)
  }

  start(): void {
    if (this.#started++) return
    this.#unwatch = watchPage(this.#env.page, {
      hidden: () => this.#pause(),
      shown: () => {
        // Nobody looked for a while: what was known is too old to hold against anybody.
        this.#registry.forget()
        this.#judge()
        this.#resume()
      },
      online: () => {
        this.#registry.offline = false
        this.#resume()
        this.#judge()
      },
      offline: () => {
        this.#registry.offline = true
        this.#judge()
      },
      leaving: () => this.#save(),
    })
    if (this.#env.page?.document?.visibilityState !== 'hidden') this.#resume()
  }

  stop(): void {
    if (!this.#started || --this.#started) return
    this.#unwatch?.()
    this.#pause()
    this.#save()
  }

  get status(): Status {
    return this.#status
  }

  get pool(): Pool | undefined {
    return this.#pool
  }

  get gateways(): Gateway[] {
    return this.#registry.list.map((health) => health.view())
  }

  get active(): Gateway | undefined {
    return this.#choice.best()?.view()
  }

  pick(key?: string): Gateway {
    const health = this.#choice.pick(key ?? this.#store.clientId)
    if (!health) throw new Error('glbp: there is no pool yet: no agent has answered, and `gateways` is empty')
    return health.view()
  }

  // Bound, so that it can be handed to ky, ofetch and axios as it is.
  readonly fetch = async (input: RequestInfo | URL, init: GlbpInit = {}): Promise<Response> => {
    const urls = this.#registry.list.map(({ url }) => url)
    return new Exchange(this.#exchanger, await plan(input, init, urls)).run()
  }

  on<K extends keyof GlbpEvents>(type: K, listener: (event: GlbpEvents[K]) => void): () => void {
    return this.#events.on(type, listener)
  }

  snapshot(): Snapshot | undefined {
    return this.#pool && { pool: this.#pool, at: this.#env.wall() }
  }

  explain(): Explanation[] {
    return this.#choice.explain()
  }

  #method(option: LoadBalancing | undefined): LoadBalancing {
    const wanted = option ?? this.#pool?.load_balancing ?? ''
    return METHODS.has(wanted) ? (wanted as LoadBalancing) : 'weighted'
  }

  #resume(): void {
    this.#follower.start()
    this.#prober.start()
  }

  #pause(): void {
    this.#follower.stop()
    this.#prober.stop()
  }

  #save(): void {
    // The static list is the page's own: there is nothing to remember of it.
    this.#store.save(this.#follower.acceptor.kept, this.#registry)
  }

  #use(pool: Pool): void {
    this.#adopt(pool)
    this.#prober.sync()
    this.#save()
    this.#events.emit('pool', pool)
  }

  #adopt(pool: Pool): void {
    this.#pool = pool
    this.#registry.use(pool)
    this.#judge()
  }

  #changed(health: Health): void {
    const gateway = health.view()
    const hint = health.networkError > 0 ? ': it is down, or does not allow this origin (CORS)' : ''
    if (!this.#registry.cutOff) this.#env.warn(`${gateway.url} is ${gateway.alive ? 'back' : gateway.state}${hint}`)
    this.#events.emit('change', gateway)
    this.#judge()
  }

  /** Says it when the whole is in another condition than before. */
  #judge(): void {
    const some = this.gateways.some(({ alive }) => alive) && !this.#registry.cutOff
    const before = this.#status
    const now = (this.#status = this.#registry.offline ? 'offline' : some ? 'ok' : 'degraded')
    if (now === before) return
    if (now !== 'ok') this.#events.emit(now, undefined)
    else if (before !== 'starting') this.#events.emit('recovered', undefined)
  }
}

/**
 * Makes a client. Nothing is asked before `start`; `pick` and `fetch` work at once on what is known.
 * @throws Error that says which option is wrong.
 */
export function createGlbp(options: GlbpOptions): Glbp {
  return new Client(options)
}
