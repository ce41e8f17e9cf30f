import type { Colours } from './colours.js'
import { type Data, nonceOf, type Transaction } from './data.js'

/** A range of times, or of nonces. */
export type Span = { readonly from: number; readonly to: number }

export type NonceChart = {
  draw(colours: Colours): void
  lane(): number
  showLane(lane: number): void
  /** Shows the transaction's lane, its time and its neighbours, with a frame around it. */
  focus(transaction: Transaction): void
  /** Frames the transaction without moving the view. */
  select(transaction: Transaction | undefined): void
  /** @param factor above 1 shows more time */
  zoom(factor: number): void
  /** @param share of the visible time; negative for earlier */
  pan(share: number): void
  showAll(): void
}

const SPAN_MS_MIN = 20

/** All that the chart can show. */
export function wholeSpan({ shownFrom, endedAt }: Pick<Data, 'shownFrom' | 'endedAt'>): Span {
  return { from: shownFrom, to: Math.max(endedAt, shownFrom + SPAN_MS_MIN) }
}

/** The span that is `factor` times as long around a time that keeps its place. */
export function zoomed(span: Span, factor: number, at: number, whole: Span): Span {
  const length = Math.max(SPAN_MS_MIN, (span.to - span.from) * factor)
  const share = (at - span.from) / (span.to - span.from)
  return within({ from: at - length * share, to: at + length * (1 - share) }, whole)
}

/** The span moved by a share of its length. */
export function panned({ from, to }: Span, share: number, whole: Span): Span {
  const step = (to - from) * share
  return within({ from: from + step, to: to + step }, whole)
}

/** Moves the span into the whole, and shortens it if it is longer. */
function within({ from, to }: Span, whole: Span): Span {
  const length = Math.min(to - from, whole.to - whole.from)
  const start = Math.min(Math.max(from, whole.from), whole.to - length)
  return { from: start, to: start + length }
}

/** The time of a transaction, with a quarter more on both sides. */
export function spanAround(transaction: Transaction, data: Data): Span {
  const { from, to } = lifeOf(transaction, data)
  const pad = Math.max(SPAN_MS_MIN, (to - from) / 4)
  return within({ from: from - pad, to: to + pad }, wholeSpan(data))
}

/**
 * The time from the first event of a transaction to its last. An open transaction lasts until the end of the
 * recording.
 */
export function lifeOf({ entries, outcome }: Transaction, data: Data): Span {
  const from = entries[0]?.at ?? data.startedAt
  const isOpen = outcome === 'open' || outcome === 'unresolved'
  return { from, to: Math.max(from, isOpen ? data.endedAt : (entries.at(-1)?.at ?? from)) }
}

// Rows above and below the one that was found.
const NEIGHBOURS = 12

export function noncesAround(transaction: Transaction): Span {
  const nonce = nonceOf(transaction) ?? 0
  return { from: Math.max(-1, nonce - NEIGHBOURS), to: nonce + NEIGHBOURS }
}

/** The nonces of these transactions, with one more on both sides. */
export function nonceBounds(transactions: readonly Transaction[]): Span {
  let [from, to] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const transaction of transactions) {
    const nonce = nonceOf(transaction) ?? 0
    from = Math.min(from, nonce)
    to = Math.max(to, nonce)
  }
  return to < from ? { from: 0, to: 1 } : { from: from - 1, to: to + 1 }
}

export function busiestLane({ transactions, lanes }: Pick<Data, 'transactions' | 'lanes'>): number {
  const counts = new Array<number>(lanes.length).fill(0)
  for (const { lane } of transactions) counts[lane] = (counts[lane] ?? 0) + 1
  return Math.max(0, counts.indexOf(Math.max(...counts)))
}
