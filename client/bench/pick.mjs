// What a pick costs at 16 gateways, beside a bare weighted draw in the same rounds: `npm run bench`. The bar is 1 µs. On a
// busy machine the least of many short rounds says what the code costs; the median says what else was running.
import { createGlbp } from '../dist/index.js'

const ROUNDS = 400
const PICKS = 1000
const BAR_US = 1

const gateways = Array.from({ length: 16 }, (_, k) => ({
  slot: k + 1, url: `http://gateway-${k + 1}`, weight: 100 + k, alive: true, state: 'active',
}))
const total = gateways.reduce((sum, { weight }) => sum + weight, 0)

function draw() {
  let left = Math.random() * total
  for (const gateway of gateways) if ((left -= gateway.weight) < 0) return gateway
  return gateways[0]
}

const runs = new Map([['a bare weighted draw', draw]])
for (const loadBalancing of ['weighted', 'round-robin', 'host-dependent', 'best', 'two-choices']) {
  const pool = { group: 'web', term: 1, avg: 'bff-1', version: 1, gateways }
  const glbp = createGlbp({ snapshot: { pool, at: 0 }, storageKey: false, loadBalancing })
  runs.set(loadBalancing, () => glbp.pick('key'))
}
// All but `weighted` are loaded when they are wanted.
await import('../dist/methods.js')

const times = new Map([...runs.keys()].map((name) => [name, []]))
for (let round = 0; round < ROUNDS; round++) {
  for (const [name, run] of runs) {
    const startedAt = performance.now()
    for (let k = 0; k < PICKS; k++) run()
    times.get(name).push(((performance.now() - startedAt) * 1000) / PICKS)
  }
}

let late = 0
const [base] = [...times.values()].map((all) => Math.min(...all))
for (const [name, all] of times) {
  const least = Math.min(...all)
  const median = all.sort((a, b) => a - b)[all.length >> 1]
  if (least > BAR_US) late++
  console.log(`${name.padEnd(22)} ${least.toFixed(3)} µs, median ${median.toFixed(3)} µs, ${(least / base).toFixed(1)} times the draw`)
}
process.exitCode = late ? 1 : 0
