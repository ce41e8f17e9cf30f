import type { Lane } from '../../allocator/lane.js'
import { type CountReading, createBounds } from '../../allocator/readings.js'
import type { BlockRef } from '../../ledger/slot.js'
import type { Signatures } from '../../rpc/signatures.js'
import { type CountSettlingContext, createCountSettling, createIncoherence } from './countSettling.js'
import { createStoreCheck } from './storeCheck.js'

type SeedingContext = CountSettlingContext & {
  readonly signatures: Signatures
}

/** The values with which the lane began. */
export type Seed = {
  /** Counts of the first reading. They may contradict each other. */
  readonly latest: number
  readonly pending: number
  readonly head: number
  /** Blocks up to `block`, and nonces below `nonce`, are older than the first record of this lane. */
  readonly history: { readonly block: number; readonly nonce: number }
  /** Nothing is known about the account but these counts, so they have to settle first. */
  readonly isUnsettled: boolean
  /** `pending` is too far above the known nonces to be believed. */
  readonly isDisbelieved: boolean
  /** The cursor of a store that may be older than the chain; undefined if it cannot be. */
  readonly storeCursor: number | undefined
  /** Of the readings at the start one was above the store's cursor, and another was not. */
  readonly storeDisputed: boolean
  /** The newest block that the store knew before it can have lost anything. */
  readonly storeMadeAt: BlockRef | undefined
}

/**
 * Checks the counts from the start. The lane has the hold `seeding` until they are believed, and the
 * hypothesis (the nonces between `latest` and `pending`) shrinks if later readings refute it.
 */
export type Seeding = {
  /**
   * The counts of a tick. Returns true while the lane has not begun, because the counts explain nothing yet.
   */
  count(counts: { readonly latest: number; readonly pending: number | undefined }, head: number): boolean
  /**
   * The newest confirmed reading counts this nonce of the hypothesis, so another sender's transaction
   * may wait there.
   */
  covers(nonce: number): boolean
  /** The poller should read `pending`, even if the lane has no other use for it. */
  readonly wantsPending: boolean
  /** `pending` should be read soon. */
  readonly isUrgent: boolean
  /** The lane is held until other counts are read, or the hypothesis is open. */
  readonly isDoubted: boolean
  /** A part of the hypothesis is neither used nor refuted. */
  readonly isOpen: boolean
  /**
   * Resolves when the counts have settled, or when they were read once more after the time limit, whether
   * they are believed or not.
   */
  settled(): Promise<void>
  /** An operator accepts the newest reading. */
  accept(): void
  stop(): void
}

type SeedingCallbacks = {
  /** Nonces of the hypothesis became free, or the lane may begin. */
  readonly freed: () => void
  /** There may be a hole below the cursor. */
  readonly gaps: () => void
}

export function createSeeding(context: SeedingContext, seed: Seed, callbacks: SeedingCallbacks): Seeding {
  const { lane, endpointPool, clock, limits } = context
  const { book, holds } = lane
  const confirm = createBounds()
  const doubtIncoherent = createIncoherence(endpointPool)
  let isDisbelieved = seed.isDisbelieved
  let newest: CountReading = { ...seed, atMs: clock.now() }
  let coversTo = 0
  const settling = createCountSettling({
    context,
    first: seed.isUnsettled ? newest : undefined,
    newest: () => newest,
    settle,
    changed: show,
  })
  const store = createStoreCheck(
    context,
    { cursor: seed.storeCursor, isDisputed: seed.storeDisputed, madeAt: seed.storeMadeAt },
    () => {
      show()
      freed()
    },
  )
  show()

  function freed(): void {
    callbacks.gaps()
    callbacks.freed()
  }

  function isOpen(): boolean {
    return book.supposedTo > Math.max(book.base, book.floor)
  }

  const isWatching = (): boolean => isDisbelieved || isOpen() || store.isOpen

  function show(): void {
    if (settling.isOpen) holds.add('seeding', unsettledDetail(newest, settling.contradiction))
    else if (isDisbelieved)
      holds.add('seeding', disbeliefDetail(newest, { lane, max: limits.seedSpanMax, isOpen: isOpen() }))
    else if (store.isDisputed) holds.add('seeding', store.detail)
    else holds.lift('seeding')
  }

  function settle(reading: CountReading): void {
    settling.end()
    isDisbelieved = reading.pending - reading.latest > limits.seedSpanMax
    if (reading.latest < book.base) book.lower(reading.latest)
    else book.raise(reading.latest)
    book.counted(reading.latest)
    book.suppose(isDisbelieved ? reading.latest : reading.pending)
    show()
    settling.notify()
    freed()
  }

  /** Compares a later reading with the hypothesis. */
  function compare(reading: CountReading): void {
    coversTo = Math.min(coversTo, reading.pending)
    // A reading from before the start says nothing about later transactions.
    if (reading.latest < book.base) return
    const bounds = confirm(reading)
    if (bounds === undefined) return show()
    coversTo = bounds.min
    const isWithin = bounds.max - book.cursor <= limits.seedSpanMax
    if (store.isOpen || (isDisbelieved && isWithin)) store.compare(bounds)
    if (isDisbelieved && isWithin) {
      isDisbelieved = false
      if (bounds.min > book.supposedTo) book.suppose(bounds.min)
    } else if (isOpen() && bounds.max < book.supposedTo && !book.suppose(bounds.max)) isDisbelieved = true
    show()
    freed()
  }

  return {
    count(counts, head) {
      if (settling.isOpen || isWatching()) doubtIncoherent(counts)
      const { isOverdue } = settling
      // An endpoint without `pending` reports everything with `latest`. For any other endpoint, the answer
      // was lost.
      const mayLack = isOverdue || endpointPool.reader.profile.current().pending === 'absent'
      const reading = readingOf(counts, { head, atMs: clock.now(), mayLack, isOverdue })
      if (reading === undefined) return settling.isOpen
      newest = reading
      if (settling.isOpen) {
        settling.take(reading)
        return true
      }
      if (isWatching()) compare(reading)
      return false
    },
    // Also false while endpoints disagree on whether the store is complete, because a no-op of this lane
    // would look like a transaction that the store does not know.
    covers: (nonce) => nonce < coversTo && !isDisbelieved && !store.isDisputed,
    get wantsPending() {
      return settling.isOpen || isWatching()
    },
    get isOpen() {
      return isOpen()
    },
    get isDoubted() {
      return isDisbelieved || isOpen() || store.isDisputed
    },
    get isUrgent() {
      return settling.isOpen
    },
    settled: settling.settled,
    accept() {
      const accepted = lowerOf(newest)
      if (settling.isOpen) settle(accepted)
      if (!isDisbelieved && !store.isDisputed) return
      store.accept()
      isDisbelieved = false
      if (accepted.pending > book.supposedTo) book.suppose(accepted.pending)
      show()
      freed()
    },
    stop: settling.stop,
  }
}

/**
 * The reading of a tick; undefined if it proves nothing.
 *
 * @param seen.mayLack the reading is complete without `pending`
 */
function readingOf(
  { latest, pending }: { readonly latest: number; readonly pending: number | undefined },
  seen: {
    readonly head: number
    readonly atMs: number
    readonly mayLack: boolean
    readonly isOverdue: boolean
  },
): CountReading | undefined {
  const { head, atMs, mayLack, isOverdue } = seen
  if (pending === undefined && !mayLack) return undefined
  const reading = { latest, pending: pending ?? latest, head, atMs }
  // `pending` includes `latest`. If it counts less, one of the two is wrong, and neither is believed.
  return reading.pending >= latest || isOverdue ? lowerOf(reading) : undefined
}

/** Of two contradicting counts, the lower one leaves no nonce empty. */
function lowerOf(reading: CountReading): CountReading {
  return { ...reading, latest: Math.min(reading.latest, reading.pending) }
}

function countedDetail({ latest, pending, head }: CountReading): string {
  return `At block ${head} the endpoint counts ${latest} at \`latest\` and ${pending} at \`pending\``
}

function unsettledDetail(reading: CountReading, contradiction: string | undefined): string {
  const other = contradiction === undefined ? '' : ` ${contradiction}`
  return `${countedDetail(reading)}. Two readings have to agree.${other}`
}

function disbeliefDetail(
  reading: CountReading,
  { lane, max, isOpen }: { readonly lane: Lane; readonly max: number; readonly isOpen: boolean },
): string {
  const { cursor } = lane.book
  const counted = countedDetail(reading)
  if (isOpen)
    return `${counted}, and this lane has sent at nonces up to ${cursor - 1}, too far above them to fill the nonces in between.`
  return reading.pending - cursor > max
    ? `${counted}, more than ${max} above nonce ${cursor}, the next that is known (limits.seedSpanMax). A later reading within that, or resume(), lifts the hold.`
    : `${counted}, and counted more than ${max} above nonce ${cursor} before (limits.seedSpanMax). Another reading within that, or resume(), lifts the hold.`
}
