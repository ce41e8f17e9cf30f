import type { Lane } from '../../allocator/lane.js'
import { type CountReading, createAgreement } from '../../allocator/readings.js'
import { readCountAtHead } from '../../chain/blocks/nonceEvidence.js'
import type { EndpointPool, PoolEndpoint } from '../../chain/endpoints/endpointPool.js'
import type { CancelTimer, Clock } from '../../platform/clock.js'
import { createOneAtATime } from '../../platform/oneAtATime.js'
import type { Repeats } from '../../platform/repeats.js'
import type { Limits } from '../../types/index.js'
import { countsElsewhere } from './counts.js'

export type CountSettlingContext = {
  readonly lane: Lane
  readonly endpointPool: Pick<EndpointPool, 'chainId' | 'doubtReader' | 'others' | 'reader' | 'tracker'>
  readonly clock: Clock
  readonly limits: Limits
  readonly errors: Repeats<Error>
  readonly closing: AbortSignal
  readonly closed: boolean
}

type CountSettlingParts = {
  readonly context: CountSettlingContext
  /** The reading at the start, if the counts have to settle. */
  readonly first: CountReading | undefined
  readonly newest: () => CountReading
  /** The counts have settled on this reading. */
  readonly settle: (reading: CountReading) => void
  /** The reading, or its contradiction, has changed. */
  readonly changed: () => void
}

/** Waits at the start until readings of the account's counts agree. */
type CountSettling = {
  readonly isOpen: boolean
  /**
   * The time limit for readings that agree has passed, so the next reading is believed. An earlier
   * reading may be refuted already.
   */
  readonly isOverdue: boolean
  /** Describes the count that contradicts the reading. */
  readonly contradiction: string | undefined
  take(reading: CountReading): void
  /** The counts have settled. */
  end(): void
  /** Resolves the promises of `settled`. */
  notify(): void
  settled(): Promise<void>
  stop(): void
}

export function createCountSettling(parts: CountSettlingParts): CountSettling {
  const { context, first, newest, settle, changed } = parts
  const { lane, endpointPool, clock, limits } = context
  const agree = createAgreement()
  const asking = createOneAtATime(context)
  const waiting: (() => void)[] = []
  let isOpen = first !== undefined
  let isOverdue = false
  let contradiction: string | undefined
  let cancel: CancelTimer | undefined

  if (first !== undefined) {
    agree(first)
    cancel = clock.setTimer(() => {
      isOverdue = true
    }, limits.coldStartMaxMs)
  }

  /**
   * Settles on a reading unless another count contradicts it. One of two counts then lags or is wrong:
   * transactions above the true count leave a gap, and transactions below it are sent in vain. The same
   * endpoint is also asked for the count at the block itself, because a cache may answer for `latest`.
   */
  async function settleUnlessContradicted(reading: CountReading): Promise<void> {
    const [others, own] = await Promise.all([
      countsElsewhere(endpointPool, lane.key.address, limits.readTimeoutMs),
      countAtBlock(reading.head),
    ])
    if (context.closed || !isOpen) return
    contradiction = undefined
    if (own !== undefined && own !== reading.latest)
      contradiction = `It counts ${own} where it is asked for block ${reading.head} by its hash.`
    const other = others.find((count) => count !== reading.latest)
    if (other !== undefined) contradiction = `Another one counts ${other}.`
    if (contradiction !== undefined) return changed()
    // A reading that arrived meanwhile may have a different count.
    const { latest, pending } = newest()
    if (latest === reading.latest && pending === reading.pending) settle(newest())
  }

  async function countAtBlock(to: number): Promise<number | undefined> {
    const hash = endpointPool.tracker.hashAt(to)
    if (hash === undefined) return undefined
    const { chainId, reader } = endpointPool
    const signal = context.closing
    return readCountAtHead(reader.port, { address: lane.key.address, to, hash, chainId, signal })
  }

  function notify(): void {
    for (const done of waiting.splice(0)) done()
  }

  return {
    get isOpen() {
      return isOpen
    },
    get isOverdue() {
      return isOverdue
    },
    get contradiction() {
      return contradiction
    },
    take(reading) {
      if (isOverdue) settle(reading)
      else if (!agree(reading)) changed()
      // No source could contradict the reading.
      else if (endpointPool.others().length === 0 && endpointPool.tracker.hashAt(reading.head) === undefined)
        settle(reading)
      else asking.run(() => settleUnlessContradicted(reading))
    },
    end() {
      cancel?.()
      isOpen = false
      isOverdue = false
    },
    notify,
    settled() {
      if (!isOpen) return Promise.resolve()
      return new Promise((resolve) => waiting.push(resolve))
    },
    stop() {
      cancel?.()
      notify()
    },
  }
}

/**
 * A single reading of this kind may have met a new block between its two calls, or two different backends.
 */
const READINGS_MIN = 2

/**
 * Doubts the read endpoint if it counts less at `pending` than at `latest`, in two consecutive readings: one
 * of its counts is wrong, and another endpoint may have two counts that agree. Each endpoint is doubted once,
 * because the reader would change for ever if all endpoints had that fault.
 */
export function createIncoherence(
  endpointPool: Pick<EndpointPool, 'reader' | 'doubtReader'>,
): (counts: { readonly latest: number; readonly pending: number | undefined }) => void {
  const doubted = new Set<PoolEndpoint>()
  let inARow: { readonly endpoint: PoolEndpoint; readonly readings: number } | undefined
  return ({ latest, pending }) => {
    if (pending === undefined) return
    const endpoint = endpointPool.reader
    const before = inARow?.endpoint === endpoint ? inARow.readings : 0
    inARow = pending < latest ? { endpoint, readings: before + 1 } : undefined
    if (inARow === undefined || inARow.readings < READINGS_MIN || doubted.has(endpoint)) return
    doubted.add(endpoint)
    endpointPool.doubtReader(
      `the endpoint counts ${pending} nonces at \`pending\`, and ${latest} at \`latest\``,
    )
  }
}
