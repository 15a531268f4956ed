import type { GlbpEvents } from './types.js'

type Listener<K extends keyof GlbpEvents> = (event: GlbpEvents[K]) => void

/** Who wants to hear what. */
export class Emitter {
  readonly #listeners = new Map<keyof GlbpEvents, Set<Listener<never>>>()

  /** @returns what takes the listener away again. */
  on<K extends keyof GlbpEvents>(type: K, listener: Listener<K>): () => void {
    const set = this.#listeners.get(type) ?? new Set()
    this.#listeners.set(type, set)
    const own: Listener<K> = (event) => listener(event)
    set.add(own as Listener<never>)
    return () => set.delete(own as Listener<never>)
  }

  /** A listener that throws harms nobody else. */
  emit<K extends keyof GlbpEvents>(type: K, event: GlbpEvents[K]): void {
    for (const listener of [...(this.#listeners.get(type) ?? [])]) {
      try {
        ;(listener as Listener<K>)(event)
      } catch (error) {
        queueMicrotask(() => {
          throw error
        })
      }
    }
  }
}
