import type { Clock } from '../../platform/clock.js'
import type { Repeats } from '../../platform/repeats.js'
import { reportError } from '../../platform/reportError.js'
import type { Transaction } from '../transaction/transaction.js'
import type { FeeOracle } from './feeOracle.js'

/** Pause after a failed read of the market price, doubled each time. */
const RETRY_MS = 300
const RETRY_MS_MAX = 3_000

export type MarketReadsContext = {
  readonly fees: FeeOracle
  readonly clock: Pick<Clock, 'setTimer'>
  readonly errors: Repeats<Error>
}

/** Reads the market price before nonces are reserved. */
export type MarketReads = {
  /**
   * Reads the price for the first queued transaction if it is not known. Resolves to false if the read fails,
   * or if the pause after a failure is not over.
   */
  before(first: Transaction | undefined): boolean | Promise<boolean>
  /** Whether the price for the transaction is known, or was read by the last `before`. */
  isKnown(transaction: Transaction): boolean
}

/** `retry` is called when the pause after a failure is over. */
export function createMarketReads(context: MarketReadsContext, retry: () => void): MarketReads {
  const { fees, clock } = context
  let isPausing = false
  let failures = 0
  // The market price for transactions with the preset of this one was read.
  let readFor: Transaction | undefined

  async function read(first: Transaction): Promise<boolean> {
    try {
      await fees.market(undefined, first.record.feePreset)
    } catch (error) {
      pause(error)
      return false
    }
    failures = 0
    readFor = first
    return true
  }

  function pause(error: unknown): void {
    reportError(context, error)
    isPausing = true
    const pauseMs = Math.min(RETRY_MS_MAX, RETRY_MS * 2 ** failures++)
    clock.setTimer(() => {
      isPausing = false
      retry()
    }, pauseMs)
  }

  return {
    before(first) {
      // Once a block, for the whole lane. Signatures in between use the same answer.
      if (first !== undefined && !fees.known(first.record)) return isPausing ? false : read(first)
      failures = 0
      readFor = undefined
      return true
    },
    isKnown(transaction) {
      if (readFor !== undefined && readFor.record.feePreset === transaction.record.feePreset) return true
      return fees.known(transaction.record)
    },
  }
}
