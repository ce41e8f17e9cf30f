import type { Chart } from './charts.js'
import { type Data, nonceOf, type Transaction } from './data.js'
import { historySketch } from './history.js'

type Parts = {
  readonly chart: Chart
  readonly place: HTMLElement
  readonly data: Data
  readonly rows: () => readonly Transaction[]
  readonly choose: (transaction: Transaction) => void
}

// Tolerance in pixels: a row may be one pixel tall, and a finger is not that precise.
const REACH = { down: 9, across: 14 }

/** Shows the history of the transaction nearest to the pointer, and selects it on a click. */
export function followPointer({ chart, place, data, rows, choose }: Parts): void {
  const tip = document.createElement('div')
  tip.id = 'tip'
  tip.hidden = true
  document.body.append(tip)
  let shown: Transaction | undefined

  function hide(): void {
    tip.hidden = true
    shown = undefined
  }

  const renderer = chart.getZr()
  renderer.on('mousemove', ({ offsetX, offsetY }) => {
    const found = nearest(chart, rows(), data, offsetX, offsetY)
    renderer.setCursorStyle(found ? 'pointer' : 'default')
    if (found === undefined) return hide()
    if (found !== shown) tip.replaceChildren(historySketch(found, data))
    shown = found
    tip.hidden = false
    move(tip, place.getBoundingClientRect(), offsetX, offsetY)
  })
  renderer.on('globalout', hide)
  renderer.on('click', ({ offsetX, offsetY }) => {
    const found = nearest(chart, rows(), data, offsetX, offsetY)
    if (found === undefined) return
    hide()
    choose(found)
  })
  addEventListener('scroll', hide, { passive: true })
}

/** Places the tip beside the pointer, on the side with room. */
function move(tip: HTMLElement, { left, top }: DOMRect, offsetX: number, offsetY: number): void {
  const [x, y] = [left + offsetX, top + offsetY]
  const { width, height } = tip.getBoundingClientRect()
  const [wide, tall] = [document.documentElement.clientWidth, innerHeight]
  tip.style.left = `${Math.max(6, x + 16 + width > wide ? Math.min(x - 16 - width, wide - width - 6) : x + 16)}px`
  tip.style.top = `${Math.max(6, y + 16 + height > tall ? y - 16 - height : y + 16)}px`
}

function nearest(
  chart: Chart,
  rows: readonly Transaction[],
  data: Data,
  x: number,
  y: number,
): Transaction | undefined {
  if (!chart.containPixel('grid', [x, y])) return undefined
  const pixelOf = (nonce: number) => Number(chart.convertToPixel({ yAxisIndex: 0 }, nonce))
  const nonceAt = (pixel: number) => Number(chart.convertFromPixel({ yAxisIndex: 0 }, pixel))
  // The range is converted once, because only few rows are within reach.
  const [low, high] = [nonceAt(y + REACH.down), nonceAt(y - REACH.down)]
  let best: Transaction | undefined
  let least = 1
  for (const row of rows) {
    const nonce = nonceOf(row)
    if (nonce === undefined || nonce < low || nonce > high) continue
    const down = (pixelOf(nonce) - y) / REACH.down
    const distance = Math.hypot(down, beside(chart, row, data, x) / REACH.across)
    if (distance >= least) continue
    least = distance
    best = row
  }
  return best
}

/** Distance in pixels to the nearer end of the bars; 0 between the ends. */
function beside(chart: Chart, { entries, outcome }: Transaction, data: Data, x: number): number {
  const pixelOf = (at: number) => Number(chart.convertToPixel({ xAxisIndex: 0 }, at))
  const first = entries[0]?.at ?? 0
  const last = outcome === 'open' ? data.endedAt : (entries.at(-1)?.at ?? first)
  return Math.max(0, pixelOf(first) - x, x - pixelOf(last))
}
