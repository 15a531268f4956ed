import type { GlbpEvents } from './types.js'

type Listener<K extends keyof GlbpEvents> = (event: GlbpEvents[K]) => void

/** Who wants to hear what. */
export class Emitter {
  readonly #listeners: { [type: string]: Set<Listener<never>> } = {}

  /** @returns what takes the listener away again. */
  on<K extends keyof GlbpEvents>(type: K, listener: Listener<K>): () => void {
    const set = (this.#listeners[type] ??= new Set()) as Set<Listener<K>>
    const own: Listener<K> = (event) => listener(event)
    set.add(own)
    return () => set.delete(own)
  }

  /** A listener that throws harms nobody else; it is told as a rejection that nobody handles. */
  emit<K extends keyof GlbpEvents>(type: K, event: GlbpEvents[K]): void {
    for (const listener of [...(this.#listeners[type] ?? [])]) {
      try {
        ;(listener as Listener<K>)(event)
      } catch (error) {
        void Promise.reject(error)
      }
    }
  }
}
