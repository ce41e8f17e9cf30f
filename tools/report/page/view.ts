import type { Transaction } from './data.js'

/** Maximum rows to draw: more rows than lines on a screen add no information. */
const ROWS_MAX = 1_500

/**
 * Selects the transactions to draw: all in view if they are few, else the ones with problems and an even
 * selection of the others. Zooming in shows all.
 */
export function rowsInView(
  inView: readonly Transaction[],
  marked: ReadonlySet<Transaction>,
  max = ROWS_MAX,
): readonly Transaction[] {
  if (inView.length <= max) return inView
  const first = thinned(
    inView.filter((transaction) => marked.has(transaction)),
    Math.floor(max / 2),
  )
  const rest = thinned(
    inView.filter((transaction) => !marked.has(transaction)),
    max - first.length,
  )
  return [...first, ...rest]
}

export function thinned<item>(all: readonly item[], max: number): readonly item[] {
  if (all.length <= max) return all
  return Array.from({ length: max }, (_, index) => all[Math.floor((index * all.length) / max)] as item)
}
