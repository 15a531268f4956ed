import { computed, shallowRef, type ComputedRef, type Ref } from 'vue'
import type { Gateway, Glbp } from 'glbp-client'

/** A gateway as the page shows it: also one that left the pool. */
export interface Card {
  url: string
  name: string
  colour: string
  /** Slots that it forwards now. */
  slots: number[]
  /** Who forwards its own slot in its place. */
  standIn: string | undefined
  alive: boolean
  state: string
  weight: number
  share: number
  latency: number | null
  inFlight: number
}

const COLOURS = 6

/** The gateways that this page ever heard of. */
export class Cards {
  readonly list: ComputedRef<Card[]>
  readonly #names = shallowRef(new Map<string, string>())
  readonly #glbp: Glbp

  /** @param pool,tick renewed with each change, and every half second: shares change by themselves. */
  constructor(glbp: Glbp, pool: Readonly<Ref<readonly Gateway[]>>, tick: Readonly<Ref<number>>) {
    this.#glbp = glbp
    for (const { url } of glbp.gateways) this.learn(url, '')
    const learn = () => {
      for (const { url, id } of glbp.pool?.gateways ?? []) this.learn(url, id)
    }
    learn()
    glbp.on('pool', learn)
    this.list = computed(() => {
      void pool.value
      void tick.value
      const shares = new Map(glbp.explain().map(({ url, share }) => [url, share]))
      return [...this.#names.value]
        .sort(([a, one], [b, other]) => (one || a).localeCompare(other || b, 'en', { numeric: true }))
        .map(([url], k) => this.#card(url, `var(--gateway-${(k % COLOURS) + 1})`, shares.get(url) ?? 0))
    })
  }

  /** The gateway of `url` is called so; `''`: that is not known. */
  learn(url: string, name: string): void {
    const known = this.#names.value.get(url)
    if (known === name || (known !== undefined && !name)) return
    this.#names.value = new Map(this.#names.value).set(url, name)
  }

  /** @param url of a gateway, or below it. */
  readonly nameOf = (url: string): string => {
    const origin = [...this.#names.value.keys()].find((base) => url === base || url.startsWith(`${base}/`))
    return (origin && this.#names.value.get(origin)) || url.replace(/^https?:\/\//, '')
  }

  #card(url: string, colour: string, share: number): Card {
    const gateway = this.#glbp.gateways.find((other) => other.url === url)
    const name = this.nameOf(url)
    const slots = this.#glbp.pool?.gateways ?? []
    const own = slots.find(({ owner }) => owner === name)
    return {
      url, name, colour, share,
      slots: slots.filter((slot) => slot.url === url).map(({ slot }) => slot),
      standIn: own && own.id !== name ? own.id : undefined,
      alive: gateway?.alive ?? false,
      state: gateway?.state ?? 'out',
      weight: gateway?.weight ?? 0,
      latency: gateway?.latency ?? null,
      inFlight: gateway?.inFlight ?? 0,
    }
  }
}
