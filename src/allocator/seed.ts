import type { Clock } from '../clock.js'
import { type Book, createBook } from '../ledger/book.js'
import { isUsed } from '../ledger/slot.js'
import type { LaneReading } from '../rpc/reads/readLane.js'
import type { LaneState } from '../store/store.js'

export type Seeded = {
  readonly book: Book
  /** Above every token that was ever given out in this lane. */
  readonly tokenAbove: number
  /** The chain knows nonces that the store does not: nothing is sent until an operator has looked. */
  readonly storeBehindChain: boolean
}

/**
 * The book of a lane as it starts: from the store where it has records, from the chain where it has not, and never
 * below what either of them says is taken. Nonces that `pending` counts and nobody here knows are `outside`.
 */
export function seedBook(
  reading: Pick<LaneReading, 'latest' | 'pending'>,
  state: LaneState,
  store: { readonly durable: boolean; readonly seen: boolean },
): Seeded {
  // A node that lags, or came back without its last blocks, says less than the records prove.
  const latest = Math.max(reading.latest.count, provenCount(state))
  const pending = Math.max(reading.pending?.count ?? latest, latest)
  const known = state.cursor !== undefined
  const lowest = state.slots.reduce((low, slot) => Math.min(low, slot.nonce), latest)
  // With records the floor is what the journal can account for; evidence raises it over the rest.
  const book = createBook({ floor: known ? Math.min(lowest, latest) : latest })
  if (known) restorePruned(book, state, latest)
  let tokenAbove = 0
  for (const slot of [...state.slots].sort((a, b) => a.nonce - b.nonce)) {
    // Row 6: a reservation of an earlier life has no attempt, and its token is nobody's.
    if (slot.state === 'reserved') continue
    if (slot.state === 'live') tokenAbove = Math.max(tokenAbove, slot.token)
    book.restore(slot)
  }
  if (!known) book.raise(latest)
  else raiseBelowRecords(book, latest)
  // By whom they were used is not known yet. That they are is enough for nothing to be sent there again.
  book.counted(latest)
  for (let nonce = Math.max(book.cursor, latest); nonce < pending; nonce++)
    book.apply(nonce, { type: 'seeded' })
  // Without a cursor nothing was ever reserved: what waits in the store was not sent by anybody who wrote there.
  const behind = state.cursor !== undefined && pending > state.cursor
  // What outlives its process can be put back to an earlier time, and ids that it has forgotten may be sent again. What
  // does not, cannot: somebody else used the key, and with nothing waiting there is nothing to hold.
  const mayBeOlder = !store.seen && (store.durable || state.transactions.length > 0)
  return { book, tokenAbove, storeBehindChain: behind && mayBeOlder }
}

/** A block that used a nonce had all below it used before. Where it left the chain, its slot comes back by itself. */
function provenCount({ slots }: LaneState): number {
  return slots.reduce((count, slot) => (isUsed(slot) ? Math.max(count, slot.nonce + 1) : count), 0)
}

/**
 * Slots become final in no fixed order: between those that the store still has, nonces that the chain has used are
 * those of slots that were pruned. Taken for holes they would be handed out once more. A hole that somebody else has
 * used looks the same, and nothing was bound to it.
 */
function restorePruned(book: Book, { slots, cursor = 0 }: LaneState, latest: number): void {
  const kept = new Set(slots.map(({ nonce }) => nonce))
  for (let nonce = book.floor; nonce < Math.min(latest, cursor); nonce++)
    if (!kept.has(nonce)) book.restore({ state: 'final', nonce, attempts: [] })
}

/** Nonces below the chain's count that the store has no slot for are used, by what was pruned as final. */
function raiseBelowRecords(book: Book, latest: number): void {
  let nonce = book.floor
  while (nonce < latest && book.get(nonce) === undefined) nonce++
  book.raise(nonce)
}

/**
 * The lower of two readings made at once: a floor that is too high leaves nonces empty for ever, one that is too low
 * is raised by evidence. A lane that runs holds a poisoned count against its own attempts; one that starts has none.
 */
export async function readLower(read: () => Promise<LaneReading>): Promise<LaneReading> {
  const [one, other] = await Promise.all([read(), read()])
  return one.latest.count <= other.latest.count ? one : other
}

/** Sealed blocks over which a count has to stand still, and after which it is believed anyway. */
const STILL_BLOCKS = 2
const WAIT_BLOCKS_MAX = 4

/**
 * `coldStart: 'settle'`: transactions of an earlier life may be on their way where no count shows them. Waits until
 * the count stands still over two sealed blocks, four at the most. A heuristic: what lands later is found as foreign.
 */
export async function settleColdStart(options: {
  read: () => Promise<LaneReading>
  clock: Clock
  blockMs: () => number
  stopped: () => boolean
}): Promise<LaneReading> {
  let reading = await options.read()
  const start = reading.latest.header.number
  let since = start
  if (countOf(reading) === 0) return reading
  for (;;) {
    const head = reading.latest.header.number
    if (head - since >= STILL_BLOCKS || head - start >= WAIT_BLOCKS_MAX || options.stopped()) return reading
    await new Promise<void>((resolve) => options.clock.setTimer(resolve, Math.max(50, options.blockMs() / 4)))
    const next = await options.read()
    if (countOf(next) !== countOf(reading)) since = next.latest.header.number
    reading = next
  }
}

function countOf(reading: LaneReading): number {
  return Math.max(reading.pending?.count ?? 0, reading.latest.count)
}
