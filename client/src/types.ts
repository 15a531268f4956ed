/** One entry of a pool, as the agent publishes it: a slot and who forwards it now. */
export interface PoolGateway {
  slot: number
  /** The forwarder, `''` when there is none. */
  id: string
  owner: string
  url: string
  /** Share of the traffic; 0: only for clients that hold this slot. */
  weight: number
  alive: boolean
  /** Milliseconds as the agents measured them; `null` when unknown. */
  latency: number | null
  state: string
}

/** The pool of a group, with the names that it has on the wire. */
export interface Pool {
  group: string
  id: number
  term: number
  avg: string
  version: number
  standby: string
  load_balancing: string
  members: number
  majority: boolean
  lone: boolean
  degraded: boolean
  refresh_ms: number
  hold_ms: number
  gateways: PoolGateway[]
  agents: string[]
}

/** A gateway of the static list, used until an agent has answered. */
export interface StaticGateway {
  url: string
  /** Default 100. */
  weight?: number
}

export type LoadBalancing = 'weighted' | 'round-robin' | 'host-dependent' | 'best' | 'two-choices'
export type Status = 'starting' | 'ok' | 'degraded' | 'offline'

/** What is known about one gateway (one url, whatever number of slots it forwards). */
export interface Gateway {
  url: string
  /** The lowest slot that it forwards. */
  slot: number
  weight: number
  alive: boolean
  /** Decaying average in milliseconds, of successes only; `null` until there was one. */
  latency: number | null
  /** Decaying average, 0..1. */
  successRate: number
  inFlight: number
  /** `active`, `suspect`, … of the pool; `dead` or `ejected` when this client found it so. */
  state: string
  /** Wall clock time of the last probe's end in ms; `null` when there was none. */
  lastProbe: number | null
}

export interface Attempt {
  /** Without user info, query and fragment. */
  url: string
  ms: number
  status?: number
  error?: string
}

export interface GlbpEvents {
  /** Another pool was taken. */
  pool: Pool
  /** A gateway was lost or came back. */
  change: Gateway
  /** A probe has ended, whatever it found. */
  probe: Gateway
  /** A request goes on at another gateway. */
  failover: { from: string; to: string; reason: string }
  degraded: undefined
  recovered: undefined
  offline: undefined
}

/** What a server hands to its pages, and what `snapshot` of the options takes. */
export interface Snapshot {
  pool: Pool
  at: number
}

/** How likely a gateway is picked now, and why. */
export interface Explanation extends Gateway {
  share: number
  latencyFactor: number
  slowStart: number
  eligible: boolean
}

// What is used of a browser's own types, so that a project without the DOM's can read these.

/** What `glbp.fetch` takes in the place of a path. */
export type Target = string | URL | Request

/** Of localStorage. */
export interface KeyValues {
  getItem(key: string): string | null
  setItem(key: string, value: string): void
}

/** Of `document` and `window`. */
export interface Page {
  document?: EventTarget & { readonly visibilityState: string }
  window?: EventTarget & {
    readonly location: { readonly origin: string; readonly protocol: string }
    readonly navigator: { readonly onLine: boolean }
  }
}

/** Of an EventSource. */
export interface Stream {
  readonly readyState: number
  addEventListener(type: string, listener: (event: Event & { readonly data?: unknown }) => void): void
  close(): void
}

/** Of a BroadcastChannel. */
export interface Channel {
  /** Called with what has a `data`. */
  onmessage: ((event: any) => void) | null
  postMessage(message: unknown): void
  close(): void
}

/** Of navigator.locks. */
export interface Locks {
  request(name: string, options: { signal?: AbortSignal }, run: () => Promise<void> | undefined): Promise<unknown>
}

/** The world outside; tests give another one. */
export interface Env {
  /** Milliseconds, never going back. */
  now(): number
  /** Milliseconds since 1970. */
  wall(): number
  after(ms: number, run: () => void): () => void
  random(): number
  fetch: typeof fetch
  storage(): KeyValues | undefined
  /** Where visibility and network events come from; none on a server. */
  page?: Page | undefined
  warn(text: string): void
  /** A stream of events. Default: EventSource, where there is one. */
  events?(url: string): Stream
  /** How the tabs of a browser talk. Default: BroadcastChannel, in a page. */
  channel?(name: string): Channel
  /** How they agree on one of them. Default: navigator.locks, which http pages do not have. */
  locks?: Locks | undefined
}

export interface GlbpOptions {
  /** Urls of the agents' pools: `https://bff-1.example.com/pool/web`. Never dropped. */
  agents?: readonly string[]
  /** The static list, for when no agent answers. */
  gateways?: readonly (string | StaticGateway)[]
  /** Origins that a pool may name: `https://bff.example.com`, `https://*.example.com`. Default: any. */
  allow?: readonly string[]
  /** Default: the group's; `weighted` when that is none of these. */
  loadBalancing?: LoadBalancing
  /** How news of the pool come in. Polling goes on beside the others, at a quarter of its pace. Default `poll`. */
  follow?: 'poll' | 'long-poll' | 'events'
  probe?: {
    /** Appended to a gateway's url. Default `/health`. */
    path?: string
    /** Default 5000. */
    intervalMs?: number
    /** Default 2000. */
    timeoutMs?: number
    /** Accepted statuses. Default `[200]`. */
    expect?: readonly number[]
    /** Default `HEAD`; GET takes over where it is answered 405 or 501. */
    method?: 'HEAD' | 'GET' | 'OPTIONS'
  }
  /** Default 3. */
  tries?: number
  /** Milliseconds for one try. Default 10000. */
  tryTimeout?: number
  /** Milliseconds for all tries of a request. Default 15000. */
  timeout?: number
  /** A pool that a server handed to the page. */
  snapshot?: Snapshot | undefined
  /** Key in localStorage; `false`: nothing is kept. Default `glbp` and the agents. */
  storageKey?: string | false
  env?: Partial<Env>
}

/** What `glbp.fetch` takes beyond fetch's own. */
export interface GlbpInit extends RequestInit {
  glbp?: {
    /** Lets a request that is not idempotent be sent again. Default: only with `Idempotency-Key`. */
    retry?: boolean
    /** Key for `host-dependent`. */
    key?: string
  }
}
