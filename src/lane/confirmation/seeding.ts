import type { Lane } from '../../allocator/lane.js'
import { type CountReading, createAgreement, createBounds } from '../../allocator/readings.js'
import { readCountAtHead } from '../../chain/blocks/nonceEvidence.js'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import type { BlockRef } from '../../ledger/slot.js'
import type { CancelTimer, Clock } from '../../platform/clock.js'
import { createOneAtATime } from '../../platform/oneAtATime.js'
import type { Repeats } from '../../platform/repeats.js'
import type { StopSignal } from '../../platform/stopSignal.js'
import { withStopSignal } from '../../platform/stopSignal.js'
import type { Signatures } from '../../rpc/signatures.js'
import type { Limits } from '../../types/index.js'
import { countsElsewhere } from './countsElsewhere.js'
import { createIncoherence } from './incoherence.js'
import { createStoreCheck } from './storeCheck.js'

type SeedingContext = {
  readonly lane: Lane
  readonly endpointPool: EndpointPool
  readonly clock: Clock
  readonly limits: Limits
  readonly errors: Repeats<Error>
  readonly signatures: Signatures
  readonly closing: StopSignal
  readonly closed: boolean
}

/** The values with which the lane began. */
export type Seed = {
  /** Counts of the first reading. They may contradict each other. */
  readonly latest: number
  readonly pending: number
  readonly head: number
  /** Blocks up to `block`, and nonces below `nonce`, are older than the first record of this lane. */
  readonly history: { readonly block: number; readonly nonce: number }
  /** Nothing is known about the account but these counts, so that they have to settle first. */
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
   * The newest confirmed reading counts this nonce of the hypothesis, so that another sender's transaction
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

export function createSeeding(
  context: SeedingContext,
  seed: Seed,
  told: {
    /** Nonces of the hypothesis became free, or the lane may begin. */
    readonly freed: () => void
    /** There may be a hole below the cursor. */
    readonly gaps: () => void
  },
): Seeding {
  const { lane, endpointPool, clock, limits } = context
  const { book, holds } = lane
  const agree = createAgreement()
  const confirm = createBounds()
  const waiting: (() => void)[] = []
  let isUnsettled = seed.isUnsettled
  // The time limit for readings that agree has passed, so that the next reading is believed. An earlier
  // reading may be refuted already.
  let isOverdue = false
  let isDisbelieved = seed.isDisbelieved
  let newest: CountReading = { ...seed, atMs: clock.now() }
  let coversTo = 0
  const store = createStoreCheck(
    context,
    { cursor: seed.storeCursor, isDisputed: seed.storeDisputed, madeAt: seed.storeMadeAt },
    () => {
      show()
      freed()
    },
  )
  let cancel: CancelTimer | undefined
  const asking = createOneAtATime(context)
  /** Describes the count that contradicts the reading. */
  let contradiction: string | undefined
  const doubtIncoherent = createIncoherence(endpointPool)

  function freed(): void {
    told.gaps()
    told.freed()
  }

  const isWatching = (): boolean => isDisbelieved || isOpen() || store.isOpen
  const isOpen = (): boolean => book.supposedTo > Math.max(book.base, book.floor)

  if (isUnsettled) {
    agree(newest)
    cancel = clock.setTimer(() => {
      isOverdue = true
    }, limits.coldStartMaxMs)
  }
  show()

  function show(): void {
    const { latest, pending, head } = newest
    const said = `At block ${head} the endpoint counts ${latest} at \`latest\` and ${pending} at \`pending\``
    const other = contradiction === undefined ? '' : ` ${contradiction}`
    if (isUnsettled) holds.add('seeding', `${said}. Two readings have to agree.${other}`)
    else if (isDisbelieved) holds.add('seeding', `${said}, ${distrust()}`)
    else if (store.isDisputed) holds.add('seeding', store.detail)
    else holds.lift('seeding')
  }

  function distrust(): string {
    const { pending } = newest
    const { cursor } = book
    const max = limits.seedSpanMax
    if (isOpen())
      return `and this lane has sent at nonces up to ${cursor - 1}, too far above them to fill what lies between.`
    return pending - cursor > max
      ? `more than ${max} above nonce ${cursor}, the next that is known (limits.seedSpanMax). A later reading within that, or resume(), lifts the hold.`
      : `and counted more than ${max} above nonce ${cursor} before (limits.seedSpanMax). Another reading within that, or resume(), lifts the hold.`
  }

  function readingOf(
    { latest, pending }: { latest: number; pending: number | undefined },
    head: number,
  ): CountReading | undefined {
    // An endpoint without `pending` reports everything with `latest`. For any other endpoint, the answer was
    // lost.
    const isWithout = isOverdue || endpointPool.reader.profile.current().pending === 'absent'
    if (pending === undefined && !isWithout) return undefined
    const reading = { latest, pending: pending ?? latest, head, atMs: clock.now() }
    // `pending` includes `latest`. If it counts less, one of the two is wrong, and neither is believed.
    return reading.pending >= latest || isOverdue ? lowerOf(reading) : undefined
  }

  function settle(reading: CountReading): void {
    cancel?.()
    isUnsettled = false
    isOverdue = false
    isDisbelieved = reading.pending - reading.latest > limits.seedSpanMax
    if (reading.latest < book.base) book.lower(reading.latest)
    else book.raise(reading.latest)
    book.counted(reading.latest)
    book.suppose(isDisbelieved ? reading.latest : reading.pending)
    show()
    for (const done of waiting.splice(0)) done()
    freed()
  }

  /**
   * Settles on a reading unless another count contradicts it. One of two counts then lags or is wrong:
   * transactions above the true count leave a gap, and transactions below it are sent in vain. The same
   * endpoint is also asked for the count at the block itself, because a cache may answer for `latest`.
   */
  async function settleUnlessContradicted(reading: CountReading, signal: AbortSignal): Promise<void> {
    const [others, own] = await Promise.all([
      countsElsewhere(endpointPool, lane.key.address, limits.readTimeoutMs),
      countAtBlock(reading.head, signal),
    ])
    if (context.closed || !isUnsettled) return
    contradiction = undefined
    if (own !== undefined && own !== reading.latest)
      contradiction = `It counts ${own} where it is asked for block ${reading.head} by its hash.`
    const other = others.find((count) => count !== reading.latest)
    if (other !== undefined) contradiction = `Another one counts ${other}.`
    if (contradiction !== undefined) show()
    // A reading that arrived meanwhile may have a different count.
    else if (newest.latest === reading.latest && newest.pending === reading.pending) settle(newest)
  }

  async function countAtBlock(to: number, signal: AbortSignal): Promise<number | undefined> {
    const hash = endpointPool.tracker.hashAt(to)
    if (hash === undefined) return undefined
    const { address } = lane.key
    return readCountAtHead(endpointPool.reader.port, {
      address,
      to,
      hash,
      chainId: endpointPool.chainId,
      signal,
    })
  }

  function judge(reading: CountReading): void {
    coversTo = Math.min(coversTo, reading.pending)
    // A reading from before the start says nothing about later transactions.
    if (reading.latest < book.base) return
    const bounds = confirm(reading)
    if (bounds === undefined) return show()
    coversTo = bounds.min
    const isWithin = bounds.max - book.cursor <= limits.seedSpanMax
    if (store.isOpen || (isDisbelieved && isWithin)) store.judge(bounds)
    if (isDisbelieved && isWithin) {
      isDisbelieved = false
      if (bounds.min > book.supposedTo) book.suppose(bounds.min)
    } else if (isOpen() && bounds.max < book.supposedTo && !book.suppose(bounds.max)) isDisbelieved = true
    show()
    freed()
  }

  return {
    count(counts, head) {
      if (isUnsettled || isWatching()) doubtIncoherent(counts)
      const reading = readingOf(counts, head)
      if (reading === undefined) return isUnsettled
      newest = reading
      if (isUnsettled) {
        if (isOverdue) settle(reading)
        else if (!agree(reading)) show()
        // No source could contradict the reading.
        else if (endpointPool.others().length === 0 && endpointPool.tracker.hashAt(head) === undefined)
          settle(reading)
        else
          asking.run(() =>
            withStopSignal(context.closing, (signal) => settleUnlessContradicted(reading, signal)),
          )
        return true
      }
      if (isWatching()) judge(reading)
      return false
    },
    // Also false while endpoints disagree on whether the store is complete, because a no-op of this lane
    // would look like a transaction that the store does not know.
    covers: (nonce) => nonce < coversTo && !isDisbelieved && !store.isDisputed,
    get wantsPending() {
      return isUnsettled || isWatching()
    },
    get isOpen() {
      return isOpen()
    },
    get isDoubted() {
      return isDisbelieved || isOpen() || store.isDisputed
    },
    get isUrgent() {
      return isUnsettled
    },
    settled() {
      if (!isUnsettled) return Promise.resolve()
      return new Promise((resolve) => waiting.push(resolve))
    },
    accept() {
      const accepted = lowerOf(newest)
      if (isUnsettled) settle(accepted)
      if (!isDisbelieved && !store.isDisputed) return
      store.accept()
      isDisbelieved = false
      if (accepted.pending > book.supposedTo) book.suppose(accepted.pending)
      show()
      freed()
    },
    stop() {
      cancel?.()
      for (const done of waiting.splice(0)) done()
    },
  }
}

/** Of two contradicting counts, the lower one leaves no nonce empty. */
function lowerOf(reading: CountReading): CountReading {
  return { ...reading, latest: Math.min(reading.latest, reading.pending) }
}
