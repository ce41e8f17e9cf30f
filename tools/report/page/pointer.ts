import type uPlot from 'uplot'
import { type Data, nonceOf, type Transaction } from './data.js'
import { historySketch } from './history.js'
import { lifeOf } from './nonceView.js'
import { hideTip, showTip } from './tip.js'

type Parts = {
  readonly u: uPlot
  readonly data: Data
  readonly rows: () => readonly Transaction[]
  readonly choose: (transaction: Transaction) => void
}

// Tolerance in pixels: a row may be one pixel tall, and a finger is not that precise.
const REACH = { down: 9, across: 14 }

/** Shows the history of the transaction nearest to the pointer, and selects it on a click. */
export function followPointer({ u, data, rows, choose }: Parts): void {
  const { over } = u
  const under = ({ clientX, clientY }: MouseEvent) => {
    const { left, top } = over.getBoundingClientRect()
    return nearest(u, rows(), data, clientX - left, clientY - top)
  }
  over.addEventListener('mousemove', (event) => {
    const found = event.buttons === 0 ? under(event) : undefined
    over.style.cursor = found ? 'pointer' : 'crosshair'
    if (found === undefined) hideTip()
    else showTip(historySketch(found, data), event.clientX, event.clientY)
  })
  over.addEventListener('mouseleave', hideTip)
  over.addEventListener('click', (event) => {
    const found = under(event)
    if (found === undefined) return
    hideTip()
    choose(found)
  })
}

function nearest(
  u: uPlot,
  rows: readonly Transaction[],
  data: Data,
  x: number,
  y: number,
): Transaction | undefined {
  // The range is converted once, because only few rows are within reach.
  const [low, high] = [u.posToVal(y + REACH.down, 'y'), u.posToVal(y - REACH.down, 'y')]
  let best: Transaction | undefined
  let least = 1
  for (const row of rows) {
    const nonce = nonceOf(row)
    if (nonce === undefined || nonce < low || nonce > high) continue
    const down = (u.valToPos(nonce, 'y') - y) / REACH.down
    const distance = Math.hypot(down, beside(u, row, data, x) / REACH.across)
    if (distance >= least) continue
    least = distance
    best = row
  }
  return best
}

/** Distance in pixels to the nearer end of the bars; 0 between the ends. */
function beside(u: uPlot, transaction: Transaction, data: Data, x: number): number {
  const { from, to } = lifeOf(transaction, data)
  return Math.max(0, u.valToPos(from, 'x') - x, x - u.valToPos(to, 'x'))
}
