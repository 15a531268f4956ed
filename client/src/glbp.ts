import { createBudget } from './budget.js'
import { createChoice, type Choice } from './choice.js'
import { Emitter } from './emitter.js'
import type { Engine } from './engine.js'
import { defaultEnv } from './env.js'
import { exchange, type Exchanger } from './exchange.js'
import { guardOptions } from './guard.js'
import { Registry, view } from './health.js'
import type { createMethods } from './methods.js'
import { parsePool, staticPool } from './pool.js'
import { plan } from './request.js'
import { recall } from './store.js'
import type {
  Env, Explanation, Gateway, GlbpEvents, GlbpInit, GlbpOptions, LoadBalancing, Pool, Snapshot, Status, Target,
} from './types.js'
import type { UrlRules } from './url.js'

const LOAD_AGAIN_MS = 3000

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
  fetch(input: Target, init?: GlbpInit): Promise<Response>
  on<K extends keyof GlbpEvents>(type: K, listener: (event: GlbpEvents[K]) => void): () => void
  /** What a page needs to begin with this client's pool. */
  snapshot(): Snapshot | undefined
  /** How the next pick is weighed. */
  explain(): Explanation[]
}

/** What the parts of a client share. */
export interface Core extends Exchanger, Omit<Glbp, 'on'> {
  readonly rules: UrlRules
  /** Another pool is to be used. */
  use(pool: Pool): void
  readonly emit: Emitter['emit']
}

class Client extends Emitter implements Core {
  readonly env: Env
  readonly options: GlbpOptions
  readonly rules: UrlRules
  readonly registry: Registry
  readonly choice: Choice
  readonly budget: ReturnType<typeof createBudget>
  pool: Pool | undefined
  started = 0
  engine: Engine | undefined
  #methods: ReturnType<typeof createMethods> | undefined

  constructor(options: GlbpOptions) {
    super()
    const own = (this.options = { ...options })
    guardOptions(own)
    const { agents = [], gateways = [], allow, snapshot } = own
    // Clients of one origin that follow other agents must not begin with each other's pools.
    const storageKey = (own.storageKey ??= `glbp ${agents}`)
    const env = (this.env = { ...defaultEnv(), ...own.env })
    const rules = (this.rules = { allow, secure: env.page?.window?.location?.protocol === 'https:' })
    const fallback = staticPool(gateways, agents)
    this.registry = new Registry(env, (health) => this.emit('change', view(health)))
    this.choice = createChoice(this.registry, env, () => this.#methods?.[this.#method])
    this.budget = createBudget(env.now)
    let pool: Pool | undefined
    try {
      pool = snapshot && parsePool(snapshot.pool, rules)
    } catch (error) {
      env.warn(`options.snapshot: ${(error as Error).message}`)
    }
    pool ??= recall(env, storageKey, rules)?.pool ?? fallback
    if (pool) this.use(pool)
    else if (!agents.length) throw new TypeError('glbp: name `agents` or `gateways`')
  }

  start(): void {
    if (!this.started++) this.#load()
  }

  stop(): void {
    if (this.started && !--this.started) this.engine?.stop()
  }

  get status(): Status {
    const { offline, cutOff, list } = this.registry
    if (offline) return 'offline'
    if (!list.length) return 'starting'
    return !cutOff && this.gateways.some(({ alive }) => alive) ? 'ok' : 'degraded'
  }

  get gateways(): Gateway[] {
    return this.registry.list.map(view)
  }

  get active(): Gateway | undefined {
    const best = this.choice.best()
    return best && view(best)
  }

  pick(key = ''): Gateway {
    const health = this.choice.pick(key)
    if (!health) throw new Error('glbp: there is no pool yet')
    return view(health)
  }

  // Bound, so that it can be handed to ky, ofetch and axios as it is.
  readonly fetch = async (input: Target, init?: GlbpInit): Promise<Response> => {
    const request = await plan(input, init)
    await this.#ready()
    return exchange(this, request)
  }

  snapshot(): Snapshot | undefined {
    return this.pool && { pool: this.pool, at: this.env.wall() }
  }

  explain(): Explanation[] {
    return this.choice.explain()
  }

  use(pool: Pool): void {
    this.pool = pool
    this.registry.use(pool)
    this.#ready().catch(() => undefined)
    this.emit('pool', pool)
  }

  get #method(): LoadBalancing {
    return this.options.loadBalancing ?? ((this.pool?.load_balancing || 'weighted') as LoadBalancing)
  }

  /** The ways to choose beside `weighted` are there, if one is wanted; where they cannot be had, it is weighted. */
  async #ready(): Promise<void> {
    if (!this.#methods && this.#method !== 'weighted') {
      const file = await import('./methods.js').catch(() => undefined)
      this.#methods ??= file?.createMethods(this)
    }
  }

  /** The engine is a file of its own; where it cannot be had now, it is asked for again. */
  #load(): void {
    import('./engine.js').then(
      ({ Engine }) => {
        this.engine ??= new Engine(this)
        if (this.started) this.engine.start()
      },
      () => this.env.after(LOAD_AGAIN_MS, () => this.started && this.#load()),
    )
  }
}

/**
 * Makes a client. Nothing is asked before `start`; `pick` and `fetch` work at once on what is known.
 * @throws Error that says which option is wrong.
 */
export function createGlbp(options: GlbpOptions): Glbp {
  return new Client(options)
}
