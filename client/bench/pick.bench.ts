import { bench, describe, vi } from 'vitest'
import { createGlbp } from '../src/index.js'
import { pool } from '../test/world.js'

const from = pool({ weights: Array.from({ length: 16 }, (_, k) => 100 + k) })
const clients = (['weighted', 'round-robin', 'host-dependent', 'best', 'two-choices'] as const).map((loadBalancing) =>
  ({ loadBalancing, glbp: createGlbp({ snapshot: { pool: from, at: 0 }, storageKey: false, loadBalancing }) }))
await vi.dynamicImportSettled()

/** What nobody can be faster than: a weighted draw from 16 numbers that never change. */
const weights = from.gateways.map(({ weight }) => weight)
const total = weights.reduce((a, b) => a + b)
function draw(): number {
  let left = Math.random() * total
  for (let k = 0; k < weights.length; k++) if ((left -= weights[k]!) < 0) return k
  return 0
}

// Each line is a thousand picks, so that a mean in milliseconds is one pick's in microseconds.
describe('1000 picks at 16 gateways', () => {
  let sink = 0
  bench('baseline: a bare weighted draw', () => {
    for (let k = 0; k < 1000; k++) sink += draw()
  }, { time: 500 })
  for (const { loadBalancing, glbp } of clients) {
    bench(loadBalancing, () => {
      for (let k = 0; k < 1000; k++) sink += glbp.pick('key').slot
    }, { time: 500 })
  }
})
