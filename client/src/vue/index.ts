import {
  computed, getCurrentScope, inject, onScopeDispose, shallowReadonly, shallowRef,
  type App, type ComputedRef, type InjectionKey, type Plugin, type Ref,
} from 'vue'
import { createGlbp, type Gateway, type Glbp, type GlbpOptions, type Status } from '../index.js'

/** What a component gets. */
export interface UseGlbp {
  /** All gateways; renewed with each change, probe and pool. */
  gatewayPool: Readonly<Ref<readonly Gateway[]>>
  /** Who would be the best now. */
  activeGateway: ComputedRef<Gateway | undefined>
  aliveCount: ComputedRef<number>
  status: Readonly<Ref<Status>>
  /** The gateway for the next request; not a computed one, which would be the same each time. */
  getGateway(key?: string): Gateway
  fetch: Glbp['fetch']
}

interface Shared {
  glbp: Glbp
  use: UseGlbp
}

export const glbpKey: InjectionKey<Shared> = Symbol('glbp')

/** What was made for a client: a server that has one for all its requests makes an app for each of them. */
const known = new WeakMap<Glbp, Shared>()

function share(glbp: Glbp): Shared {
  let shared = known.get(glbp)
  if (!shared) known.set(glbp, (shared = observe(glbp)))
  return shared
}

function observe(glbp: Glbp): Shared {
  const pool = shallowRef<readonly Gateway[]>(glbp.gateways)
  const status = shallowRef(glbp.status)
  const renew = () => {
    pool.value = glbp.gateways
    status.value = glbp.status
  }
  for (const type of ['pool', 'change', 'probe', 'degraded', 'recovered', 'offline'] as const) glbp.on(type, renew)
  return {
    glbp,
    use: {
      gatewayPool: shallowReadonly(pool),
      // Depends on the pool, so that it is found anew when that was renewed.
      activeGateway: computed(() => (pool.value.length ? glbp.active : undefined)),
      aliveCount: computed(() => pool.value.filter(({ alive }) => alive).length),
      status: shallowReadonly(status),
      getGateway: (key) => glbp.pick(key),
      fetch: glbp.fetch,
    },
  }
}

const isClient = (given: GlbpOptions | Glbp): given is Glbp => 'pick' in (Object(given) as object)

/** `app.use(createGlbpPlugin({ agents: […] }))`; takes a client that exists already as well. */
export function createGlbpPlugin(options: GlbpOptions | Glbp): Plugin {
  return {
    install(app: App) {
      const shared = share(isClient(options) ? options : createGlbp(options))
      app.provide(glbpKey, shared)
      if (typeof window === 'undefined') return
      try {
        // Bundlers take this out of what is built for production.
        if (process.env.NODE_ENV !== 'production')
          import('./devtools.js').then(({ addDevtools }) => addDevtools(app, shared.glbp)).catch(() => undefined)
      } catch {
        // Without a bundler there is no `process`, and no development to be seen.
      }
    },
  }
}

/** The pool in a component. It is followed as long as at least one scope uses it; never on a server. */
export function useGLBP(): UseGlbp {
  const shared = inject(glbpKey, undefined)
  if (!shared) throw new Error('useGLBP: no client: call app.use(createGlbpPlugin({ agents: [...] })) first')
  if (typeof window !== 'undefined' && getCurrentScope()) {
    shared.glbp.start()
    onScopeDispose(() => shared.glbp.stop())
  }
  return shared.use
}
