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

/** What the lane began with. */
export type Seed = {
  /** Counts as they were read first. They may contradict each other. */
  readonly latest: number
  readonly pending: number
  readonly head: number
  /** Blocks up to `block`, and nonces below `nonce`, are from before the first record of this lane. */
  readonly history: { readonly block: number; readonly nonce: number }
  /** Nothing is known of the account but these counts: they have to settle first. */
  readonly isUnsettled: boolean
  /** `pending` is further above what is known than is believed. */
  readonly isDisbelieved: boolean
  /** The cursor of a store that can be older than the chain, where it is one. */
  readonly storeCursor: number | undefined
  /** Of the readings at the start one was above the store's cursor, and another was not. */
  readonly storeDisputed: boolean
  /** The newest block that the store shows to be older than whatever it may have forgotten. */
  readonly storeMadeAt: BlockRef | undefined
}

/**
 * Watches over what the counts at the start said: until they are believed the lane has the hold `seeding`, and the
 * hypothesis (the nonces between `latest` and `pending`) becomes smaller where later readings refute it.
 */
export type Seeding = {
  /** The counts of a tick. True while the lane has not begun: they explain nothing yet. */
  count(counts: { readonly latest: number; readonly pending: number | undefined }, head: number): boolean
  /** The newest confirmed reading counts this nonce of the hypothesis: somebody's transaction may wait there. */
  covers(nonce: number): boolean
  /** `pending` is to be read, whatever it is worth otherwise. */
  readonly wantsPending: boolean
  /** It is to be read soon. */
  readonly isUrgent: boolean
  /** The lane is held until other counts are read, or the hypothesis is open. */
  readonly isDoubted: boolean
  /** Some of the hypothesis is neither used nor refuted. */
  readonly isOpen: boolean
  /** Resolves when the counts have settled, or were read once more after their time was over, whether they are believed or not. */
  settled(): Promise<void>
  /** An operator believes what was read. */
  accept(): void
  stop(): void
}

export function createSeeding(
  context: SeedingContext,
  seed: Seed,
  told: {
    /** Nonces of the hypothesis came free, or the lane may begin. */
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
  // It has waited long enough for readings that agree: the next one is believed. One from before may be long refuted.
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
  /** Who counts something else than the reading says, and how much. */
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
    // One that has no \`pending\` says with `latest` all that it has to say; of another the answer was lost.
    const isWithout = isOverdue || endpointPool.reader.profile.current().pending === 'absent'
    if (pending === undefined && !isWithout) return undefined
    const reading = { latest, pending: pending ?? latest, head, atMs: clock.now() }
    // `pending` is `latest` and what comes after it: where it counts less, one of the two errs, and neither is believed.
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
   * One of two lags, or errs: bytes above the true count leave a gap, and those below it are sent in vain.
   * The same endpoint is asked as well, for the count at the block itself: what answers for `latest` may be a cache.
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
    // What came meanwhile may be another count.
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
    // What lags behind the start says nothing of what came after it.
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
        // Nobody could contradict it.
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
    // Nor while endpoints differ on whether the store knows all: a no-op of ours would look like what it does not know.
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

/** Of counts that contradict each other the lower one leaves no nonce empty. */
function lowerOf(reading: CountReading): CountReading {
  return { ...reading, latest: Math.min(reading.latest, reading.pending) }
}
