import type { Card } from './cards'
import type { Served } from './traffic'

/** As many seconds as a strip of that width (pixels of CSS) has room for. */
export const secondsIn = (width: number): number => (width < 500 ? 12 : 30)

const GAP = 3

/** One lane a gateway, time to the right: a mark for each request, in the lane of who answered; failed ones go through all. */
export function drawStrip(canvas: HTMLCanvasElement, served: readonly Served[], cards: readonly Card[]): void {
  const scale = devicePixelRatio
  const width = Math.round(canvas.clientWidth * scale)
  const height = Math.round(canvas.clientHeight * scale)
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height })
  const pen = canvas.getContext('2d')
  if (!pen || !cards.length) return
  const style = getComputedStyle(canvas)
  const colourOf = (name: string) => style.getPropertyValue(name).trim()
  const lanes = new Map(cards.map(({ url, colour }, k) => [url, { k, colour: colourOf(colour.slice(4, -1)) }]))
  const tall = height / cards.length
  const gap = GAP * scale
  pen.clearRect(0, 0, width, height)
  pen.fillStyle = colourOf('--lane')
  for (let k = 0; k < cards.length; k++) pen.fillRect(0, k * tall + gap, width, tall - 2 * gap)
  const now = performance.now()
  const windowMs = secondsIn(canvas.clientWidth) * 1000
  const x = (at: number) => width * (1 - (now - at) / windowMs)
  for (let k = served.length - 1; k >= 0; k--) {
    const { at, ms, url } = served[k]!
    const right = x(at + ms)
    if (right < 0) break
    const left = Math.min(x(at), right - 2 * scale)
    const lane = url === undefined ? undefined : lanes.get(url)
    pen.fillStyle = lane ? lane.colour : colourOf('--bad')
    // A long one is paler, so that those answered meanwhile are seen through it.
    pen.globalAlpha = lane && ms > 400 ? 0.35 : 1
    if (lane) pen.fillRect(left, lane.k * tall + gap, right - left, tall - 2 * gap)
    else pen.fillRect(right - 2 * scale, 0, 2 * scale, height)
  }
  pen.globalAlpha = 1
}
