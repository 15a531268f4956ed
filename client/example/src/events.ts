import { shallowRef } from 'vue'
import type { Glbp, Pool } from 'glbp-client'

export type Tone = 'good' | 'bad' | 'plain'

export interface Line {
  id: number
  at: Date
  text: string
  tone: Tone
  /** How often within a few seconds. */
  times: number
}

const KEPT = 200
const TOGETHER_MS = 10_000

/** What happened, the latest first. */
export class EventLog {
  readonly lines = shallowRef<readonly Line[]>([])
  #next = 1

  add(text: string, tone: Tone = 'plain'): void {
    const at = new Date()
    const lines = this.lines.value
    const same = lines.findIndex((line) => line.text === text && at.getTime() - line.at.getTime() < TOGETHER_MS)
    this.lines.value = same < 0
      ? [{ id: this.#next++, at, text, tone, times: 1 }, ...lines.slice(0, KEPT - 1)]
      : lines.map((line, k) => (k === same ? { ...line, times: line.times + 1 } : line))
  }

  /** @param nameOf the name of the gateway with that url. */
  follow(glbp: Glbp, nameOf: (url: string) => string): void {
    // The pool of an earlier visit is no news.
    let before = glbp.pool
    glbp.on('pool', (pool) => {
      for (const text of differences(before, pool)) this.add(text)
      before = pool
    })
    glbp.on('failover', ({ from, reason }) => this.add(`a request left ${nameOf(from)} for another: ${reason}`))
    glbp.on('degraded', () => this.add('no gateway answers', 'bad'))
    glbp.on('offline', () => this.add('the browser is offline', 'bad'))
    glbp.on('recovered', () => this.add('requests are served again', 'good'))
  }
}

/** What a person would want to know of a new pool. */
export function differences(before: Pool | undefined, pool: Pool): string[] {
  const lines: string[] = []
  if (pool.avg !== before?.avg || pool.term !== before.term) lines.push(`the AVG is ${pool.avg}, term ${pool.term}`)
  for (const { slot, id, state, weight } of pool.gateways) {
    const old = before?.gateways.find((other) => other.slot === slot)
    if (id !== old?.id || state !== old.state) lines.push(`slot ${slot}: ${id || 'nobody'}, ${state}`)
    else if (weight !== old.weight) lines.push(`slot ${slot}: weight ${weight}`)
  }
  for (const { slot } of before?.gateways ?? [])
    if (!pool.gateways.some((other) => other.slot === slot)) lines.push(`slot ${slot} is gone`)
  return lines
}
