import { bench, describe } from 'vitest'
import { createGlbp } from '../src/index.js'
import { pool } from '../test/world.js'

const client = (loadBalancing: 'weighted' | 'round-robin' | 'host-dependent') => {
  const from = pool({ weights: Array.from({ length: 16 }, (_, k) => 100 + k) })
  return createGlbp({ snapshot: { pool: from, at: 0 }, storageKey: false, loadBalancing })
}

describe('pick() at 16 gateways', () => {
  for (const method of ['weighted', 'round-robin', 'host-dependent'] as const) {
    const glbp = client(method)
    bench(method, () => void glbp.pick('key'), { time: 300 })
  }
})
