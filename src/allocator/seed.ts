import { type Book, createBook } from '../ledger/book.js'
import { HOLES_MAX } from '../ledger/nonceRange.js'
import { isUsed } from '../ledger/slot.js'
import type { LaneState } from '../types/store.js'

export type Seeded = {
  readonly book: Book
  /** Above every token that was ever used in this lane. */
  readonly tokenAbove: number
  /** The chain knows nonces that the store does not: nothing is sent until an operator has looked. */
  readonly storeBehindChain: boolean
  /** Only one of the two readings shows that. */
  readonly storeDisputed: boolean
  /** The store's cursor, if the store may be older than the chain. */
  readonly storeCursor: number | undefined
  /** `pending` exceeds the known nonces by more than is credible: the lane started without it. */
  readonly isDisbelieved: boolean
}

/**
 * If more than this many nonces lie below all records and are unused according to a count, they are a
 * hypothesis, not holes: no lane skips that many, and the count may be too low.
 */
const SKIPPED_MAX = 64

/**
 * The book of a lane at its start: from the store if it has records, otherwise from the chain, and never
 * below the nonces that either shows as taken. Nonces that `pending` counts and this store does not know are
 * a hypothesis of at most `spanMax` nonces.
 *
 * The lower count of two readings is the floor: a count that is too high leaves nonces empty for ever, while
 * one that is too low is raised by evidence. Nonces between the two counts that have no record are a
 * hypothesis. A running lane verifies a wrong count against its own attempts; a starting lane has none.
 *
 * @param other a second reading, of another endpoint if there is one
 */
export function seedBook(
  reading: Counts,
  state: LaneState,
  store: { readonly durable: boolean; readonly seen: boolean },
  spanMax: number,
  other: Counts = reading,
): Seeded {
  // A node that lags, or that restarted without its last blocks, counts less than the records prove.
  const latest = Math.max(lowerLatest(reading, other), provenCount(state))
  const pending = Math.max(reading.pending?.count ?? latest, latest)
  const known = hasRecords(state)
  const lowest = state.slots.reduce((low, slot) => Math.min(low, slot.nonce), latest)
  // With records, the floor is limited to the nonces that the journal accounts for; evidence raises it over
  // the rest.
  const accounted = known ? Math.min(latest, state.cursor ?? 0) : latest
  const book = createBook({ floor: Math.min(known ? lowest : latest, accounted) })
  if (known) restorePruned(book, state, latest)
  let tokenAbove = 0
  // Row 6: a reservation of an earlier process has no attempt, and its token belongs to no pending signature.
  const kept = state.slots.filter(({ state }) => state !== 'reserved').sort((a, b) => a.nonce - b.nonce)
  const first = kept[0]?.nonce ?? 0
  const isGap = known && first - latest > SKIPPED_MAX
  // Below all records one reading counts nonces as used and the other does not: no process may have skipped
  // them.
  const recordedFrom = kept[0]?.nonce ?? state.cursor ?? 0
  const disputedTo = known ? Math.min(recordedFrom, Math.max(reading.latest.count, other.latest.count)) : 0
  const supposedTo = isGap ? first : disputedTo
  if (supposedTo > latest) book.suppose(supposedTo)
  for (const slot of kept) {
    if (slot.state === 'live') tokenAbove = Math.max(tokenAbove, slot.token)
    book.restore(slot)
  }
  const open = known ? lowestOpen(book, accounted) : undefined
  book.raise(open ?? accounted)
  // The transactions that used them are not known yet. The count is enough to prevent new sends there.
  book.counted(latest)
  // Nonces that the chain has used above the records wait for evidence, like nonces in flight: only counts
  // show them.
  const isMore = pending > (open === undefined ? accounted : latest)
  const isDisbelieved = isMore && pending - Math.max(accounted, state.cursor ?? 0) > spanMax
  if (isMore && !isDisbelieved) book.suppose(Math.max(supposedTo, pending))
  // A store that outlives its process can be restored to an earlier time, and ids that it has forgotten may
  // be sent again. A store that does not outlive it cannot: another user of the key sent those transactions,
  // and with an empty queue there is nothing to hold.
  const mayBeOlder = !store.seen && (store.durable || state.transactions.length > 0)
  // Without records no nonce was ever reserved: no process that writes to this store has sent the queued
  // transactions.
  const storeCursor = mayBeOlder && known ? state.cursor : undefined
  const verdicts =
    storeCursor === undefined ? [] : [reading, other].map((one) => isAbove(one, storeCursor, spanMax))
  const isSaid = verdicts.includes(true)
  const isDenied = verdicts.includes(false)
  return {
    book,
    tokenAbove,
    isDisbelieved,
    storeCursor,
    storeBehindChain: isSaid && !isDenied,
    storeDisputed: isSaid && isDenied,
  }
}

/** A lane whose counts never settled has written 0, and its queued transactions have never been sent. */
export function hasRecords({ cursor = 0 }: Pick<LaneState, 'cursor'>): boolean {
  return cursor > 0
}

type Counted = { readonly count: number }
type Counts = { readonly latest: Counted; readonly pending: Counted | undefined }

export function lowerLatest(one: Counts, other: Counts): number {
  return Math.min(one.latest.count, other.latest.count)
}

/** Whether a reading counts nonces above the cursor; undefined if it has no pending count. */
function isAbove({ latest, pending }: Counts, cursor: number, spanMax: number): boolean | undefined {
  if (latest.count > cursor) return true
  if (pending === undefined) return undefined
  return pending.count > cursor && pending.count - latest.count <= spanMax
}

/**
 * If a block used a nonce, all nonces below were used before. If the block left the chain, its slot is
 * restored by the reorg handling.
 */
function provenCount({ slots }: LaneState): number {
  return slots.reduce((count, slot) => (isUsed(slot) ? Math.max(count, slot.nonce + 1) : count), 0)
}

/**
 * Slots become final in no fixed order. Between the slots that the store still has, used nonces belong to
 * slots that were pruned: as holes they would be handed out again. A hole that another sender has used looks
 * the same, and nothing was bound to it. A gap that is wider than any lane leaves is due to an invented
 * number of a node, and stays a hypothesis.
 */
function restorePruned(book: Book, { slots, cursor = 0 }: LaneState, latest: number): void {
  const kept = slots.map(({ nonce }) => nonce).sort((a, b) => a - b)
  let from = book.floor
  for (const nonce of [...kept, Math.min(latest, cursor)]) {
    const to = Math.min(nonce, latest, cursor)
    if (to - from <= HOLES_MAX)
      for (let pruned = from; pruned < to; pruned++)
        book.restore({ state: 'final', nonce: pruned, attempts: [] })
    from = Math.max(from, nonce + 1)
  }
}

/**
 * The lowest nonce below `end` for which the store has an open slot. Nonces below it without a slot are used:
 * their slots were pruned as final.
 */
function lowestOpen(book: Book, end: number): number | undefined {
  let lowest: number | undefined
  for (const nonce of book.slots.keys())
    if (nonce >= book.floor && nonce < end && (lowest === undefined || nonce < lowest)) lowest = nonce
  return lowest
}
