import { checkOptions } from './check.js'
import { Follower } from './follow.js'
import type { Core } from './glbp.js'
import { view, type Health } from './health.js'
import type { Hints } from './hints.js'
import { watchPage } from './page.js'
import { Prober } from './probes.js'
import type { Push } from './push.js'
import type { Plan } from './request.js'
import { recallLatencies, save } from './save.js'
import type { Tabs } from './tabs.js'
import type { GlbpOptions, Status } from './types.js'

/** While news are pushed, polling is only the safety net. */
const NET_PACE = 4
const TOLD_MAX = 100

/** What runs between `start` and `stop`. */
export class Engine {
  readonly #core: Core
  readonly #prober: Prober
  readonly #follower: Follower
  #status: Status
  /** Between start and stop. */
  #on = false
  /** What is wrong with the options; then it never starts. */
  readonly #wrong: string | undefined
  /** Following and probing: on, and the page is seen. */
  #awake = false
  #off: (() => void)[] = []
  readonly #told = new Set<string>()
  #hints: Hints | undefined
  #tabs: Tabs | undefined
  #push: Push | undefined

  constructor(core: Core) {
    this.#core = core
    this.#wrong = wrongWith(core.options)
    if (this.#wrong !== undefined) core.env.warn(this.#wrong)
    this.#status = core.status
    const pace = () => this.#tabs?.pace() ?? 1
    const tell = (text: string) => this.#tell(text)
    this.#prober = new Prober(core, {
      pace,
      tell,
      ended: (health, result) => {
        this.#tabs?.tell({ probe: { url: health.url, ...result } })
        core.emit('probe', view(health))
      },
      unreadable: (url) => this.#hint((hints) => hints.unreadable('gateway', url)),
    })
    this.#follower = new Follower(core, {
      pace: () => pace() * (this.#push?.open ? NET_PACE : 1),
      tell,
      served: (pool) => this.#tabs?.tell({ pool }),
      unreadable: (url) => this.#hint((hints) => hints.unreadable('agent', url)),
    })
    recallLatencies(core)
  }

  start(): void {
    if (this.#on || this.#wrong !== undefined) return
    this.#on = true
    const core = this.#core
    const { registry, env: { page } } = core
    // No event tells a page that begins without a network.
    registry.offline = page?.window?.navigator?.onLine === false
    this.#off = [
      core.on('pool', () => {
        this.#prober.sync()
        if (!this.#awake) this.#follower.stop()
        save(core)
        this.#judge()
      }),
      core.on('change', ({ url, alive, state }) => {
        if (!registry.cutOff) core.env.warn(`${url} is ${alive ? 'back' : state}`)
        this.#judge()
      }),
      watchPage(page, {
        hidden: () => this.#awake && this.#sleep(),
        shown: () => {
          if (this.#awake) return
          // Nobody looked for a while: what was known is too old to hold against anybody.
          this.#prober.forget()
          this.#wake()
          this.#judge()
        },
        online: () => {
          registry.offline = false
          if (this.#awake) this.#wake()
          this.#judge()
        },
        offline: () => {
          registry.offline = true
          this.#judge()
        },
      }),
    ]
    this.#judge()
    if (page?.document?.visibilityState !== 'hidden') this.#wake()
    // Requests of a page that is not seen need a pool as well.
    else if (!core.pool) this.#follower.start()
  }

  /** Nothing is asked, nothing listened to, and no timer runs. */
  stop(): void {
    if (!this.#on) return
    this.#on = false
    for (const off of this.#off) off()
    this.#sleep()
  }

  /** Something is wrong with a gateway: look at it now. */
  suspect(health: Health): void {
    this.#prober.probe(health)
  }

  /** A request has failed for good. */
  failed(plan: Plan, startedAt: number): void {
    const endedAt = this.#core.env.now()
    this.#hint((hints) => hints.failed(plan, startedAt, endedAt))
  }

  /** Why there is no pool, for people. */
  why(): string {
    const reasons = this.#follower.agents().map((agent) =>
      `${agent}: ${this.#hints?.found.get(agent) ?? this.#follower.reasons.get(agent) ?? 'no answer yet'}`)
    return this.#wrong ?? `no agent gave a pool: ${reasons.join('; ')}`
  }

  #wake(): void {
    this.#awake = true
    this.#follower.start()
    this.#prober.start()
    if (this.#tabs) this.#tabs.join()
    else if (this.#core.env.page) this.#meet()
    else this.#lead(true)
  }

  #sleep(): void {
    this.#awake = false
    this.#follower.stop()
    this.#prober.stop()
    this.#tabs?.leave()
    this.#push?.stop()
    save(this.#core)
  }

  /** Finds the other tabs. Until then, and where that fails, this one works by itself. */
  #meet(): void {
    import('./tabs.js').then(({ Tabs }) => {
      this.#tabs ??= new Tabs(this.#core, {
        probe: (result) => this.#prober.hear(result),
        pool: (value) => this.#follower.hear(value),
        lead: (leading) => this.#lead(leading),
      })
      if (this.#awake) this.#tabs.join()
    }).catch(() => this.#lead(true))
  }

  /** Who leads asks at its own pace, and is the only one that news are pushed to. */
  #lead(leading: boolean): void {
    const { follow = 'poll' } = this.#core.options
    if (this.#awake) {
      this.#follower.plan()
      this.#prober.plan()
    }
    if (!leading || follow === 'poll') return this.#push?.stop()
    import('./push.js').then(({ Push }) => {
      this.#push ??= new Push(this.#core, this.#follower, follow)
      if (this.#awake && (this.#tabs?.leading ?? true)) this.#push.start()
    }).catch(() => undefined)
  }

  /** For people, each once. */
  #tell(text: string): void {
    if (this.#told.size > TOLD_MAX || this.#told.has(text)) return
    this.#told.add(text)
    this.#core.env.warn(text)
  }

  #hint(run: (hints: Hints) => void): void {
    import('./hints.js').then(({ Hints }) => run((this.#hints ??= new Hints(this.#core.env, (text) => this.#tell(text))))).catch(() => undefined)
  }

  /** Says it when the whole is in another condition than before. */
  #judge(): void {
    const before = this.#status
    const { status } = this.#core
    this.#status = status
    if (status === before || status === 'starting') return
    if (status !== 'ok') this.#core.emit(status, undefined)
    else if (before !== 'starting') this.#core.emit('recovered', undefined)
  }
}

function wrongWith(options: GlbpOptions): string | undefined {
  try {
    checkOptions(options)
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}
