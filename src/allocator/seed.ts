import { type Book, createBook, HOLES_MAX } from '../ledger/book.js'
import { isUsed } from '../ledger/slot.js'
import type { LaneState } from '../types/store.js'

export type Seeded = {
  readonly book: Book
  /** Above every token that was ever given out in this lane. */
  readonly tokenAbove: number
  /** The chain knows nonces that the store does not: nothing is sent until an operator has looked. */
  readonly storeBehindChain: boolean
  /** One of the two readings says so, and the other one does not. */
  readonly storeDisputed: boolean
  /** The cursor of a store that can be older than the chain, where it is one. */
  readonly storeCursor: number | undefined
  /** `pending` is further above what is known than is believed: the lane began without it. */
  readonly isDisbelieved: boolean
}

/**
 * More nonces than this below all records, and not used as far as a count says: no lane skips so many, and the count may
 * be too low. They are a hypothesis, and no holes.
 */
const SKIPPED_MAX = 64

/**
 * The book of a lane as it starts: from the store where it has records, from the chain where it has not, and never
 * below what either of them says is taken. Nonces that `pending` counts and nobody here knows are a hypothesis of
 * `spanMax` nonces at most.
 *
 * Of two readings the lower count is the floor: one that is too high leaves nonces empty for ever, one that is too low is
 * raised by evidence. What lies between the two and has no record is a hypothesis. A lane that runs holds a poisoned count
 * against its own attempts; one that starts has none.
 *
 * @param other a second reading, of another endpoint where there is one
 */
export function seedBook(
  reading: Counts,
  state: LaneState,
  store: { readonly durable: boolean; readonly seen: boolean },
  spanMax: number,
  other: Counts = reading,
): Seeded {
  // A node that lags, or came back without its last blocks, says less than the records prove.
  const latest = Math.max(lowerLatest(reading, other), provenCount(state))
  const pending = Math.max(reading.pending?.count ?? latest, latest)
  const known = hasRecords(state)
  const lowest = state.slots.reduce((low, slot) => Math.min(low, slot.nonce), latest)
  // With records the floor is what the journal can account for; evidence raises it over the rest.
  const accounted = known ? Math.min(latest, state.cursor ?? 0) : latest
  const book = createBook({ floor: Math.min(known ? lowest : latest, accounted) })
  if (known) restorePruned(book, state, latest)
  let tokenAbove = 0
  // Row 6: a reservation of an earlier life has no attempt, and its token is nobody's.
  const kept = state.slots.filter(({ state }) => state !== 'reserved').sort((a, b) => a.nonce - b.nonce)
  const first = kept[0]?.nonce ?? 0
  const isGap = known && first - latest > SKIPPED_MAX
  // Below all records one reading counts nonces as used, and the other one does not: nobody may have skipped them.
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
  // By whom they were used is not known yet. That they are is enough for nothing to be sent there again.
  book.counted(latest)
  // What the chain has used above the records waits for evidence, as what is on its way does: counts say so alone.
  const isMore = pending > (open === undefined ? accounted : latest)
  const isDisbelieved = isMore && pending - Math.max(accounted, state.cursor ?? 0) > spanMax
  if (isMore && !isDisbelieved) book.suppose(Math.max(supposedTo, pending))
  // What outlives its process can be put back to an earlier time, and ids that it has forgotten may be sent again. What
  // does not, cannot: somebody else used the key, and with nothing waiting there is nothing to hold.
  const mayBeOlder = !store.seen && (store.durable || state.transactions.length > 0)
  // Without records nothing was ever reserved: what waits in the store was not sent by anybody who wrote there.
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

/** A lane whose counts never settled has written 0, and what waited there has never been sent. */
export function hasRecords({ cursor = 0 }: Pick<LaneState, 'cursor'>): boolean {
  return cursor > 0
}

type Counted = { readonly count: number }
type Counts = { readonly latest: Counted; readonly pending: Counted | undefined }

export function lowerLatest(one: Counts, other: Counts): number {
  return Math.min(one.latest.count, other.latest.count)
}

/** Whether a reading counts nonces above the cursor; undefined where it says nothing of what is pending. */
function isAbove({ latest, pending }: Counts, cursor: number, spanMax: number): boolean | undefined {
  if (latest.count > cursor) return true
  if (pending === undefined) return undefined
  return pending.count > cursor && pending.count - latest.count <= spanMax
}

/** A block that used a nonce had all below it used before. Where it left the chain, its slot comes back by itself. */
function provenCount({ slots }: LaneState): number {
  return slots.reduce((count, slot) => (isUsed(slot) ? Math.max(count, slot.nonce + 1) : count), 0)
}

/**
 * Slots become final in no fixed order: between those that the store still has, nonces that the chain has used are
 * those of slots that were pruned. Taken for holes they would be handed out once more. A hole that somebody else has
 * used looks the same, and nothing was bound to it. A gap that is wider than any lane leaves comes from a number that a
 * node made up: it is left to the hypothesis.
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
 * The lowest nonce below `end` that the store has an open slot for. Those below it that the store has no slot for are
 * used, by what was pruned as final.
 */
function lowestOpen(book: Book, end: number): number | undefined {
  let lowest: number | undefined
  for (const nonce of book.slots.keys())
    if (nonce >= book.floor && nonce < end && (lowest === undefined || nonce < lowest)) lowest = nonce
  return lowest
}
