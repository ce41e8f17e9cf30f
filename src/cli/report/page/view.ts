import type { Transaction } from './data.js'

/** Rows that are drawn at once: more than a screen has lines tell nothing more. */
const ROWS_MAX = 1_500

/**
 * Of the transactions in view, those that are drawn: all where there are few, else those that something went wrong with
 * and others evenly between. Zooming in comes to all of them.
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
