import type { Chain } from 'viem'
import type { MissingReceipt } from '../../chain/endpoints/receipts.js'
import type { Clock } from '../../platform/clock.js'
import { onAbort } from '../../platform/onAbort.js'
import type { CancelOptions, Landed, Tx, WaitOptions, WaitStage } from '../../types/index.js'
import { createLandedReceipts, type LandedReceiptsParts } from './landedReceipts.js'
import { hasReached, type Transaction } from './transaction.js'
import { fateNow, noReceipt, revertedError, tagError, timeoutError, txError } from './txError.js'
import { createStageWaits, type StageCallbacks } from './waiters.js'

/** Promises about a transaction: that it reaches a stage, with the receipt for it. */
export type Waiting = {
  wait<stage extends WaitStage>(
    transaction: Transaction,
    stage: stage,
    options: WaitOptions,
  ): Promise<Landed<Chain, stage>>
  /**
   * Resolves when a node has accepted the transaction, or a later stage is reached. `untilMs`: in clock
   * milliseconds.
   */
  accepted(transaction: Transaction, untilMs?: number): Promise<Tx>
  /** Callback form of `accepted`, because every `send` has a promise already. */
  whenAccepted(transaction: Transaction, callbacks: StageCallbacks, untilMs?: number): void
  /** The result of the work, within the timeout and the signal of its caller. The work itself continues. */
  within<T>(transaction: Transaction, options: CancelOptions, work: () => Promise<T>): Promise<T>
  /** The number of callers that wait for this stage. The cost does not depend on the number of transactions. */
  countOf(stage: WaitStage): number
  /** The endpoint has no such tag, and the caller declared no finality. */
  isUnsupported(stage: WaitStage): boolean
}

type WaitingParts = LandedReceiptsParts & {
  /** The caller gave the option `finality`. */
  readonly declaresFinality: boolean
  /** A caller waits from `begin` until `end`. */
  readonly waits: { begin(): void; end(): void }
  /** A caller waits for a stage that the transaction has not reached. */
  readonly awaited: (transaction: Transaction) => void
  readonly txOf: (transaction: Transaction) => Tx
}

/** Waits continue if the lane moves to another lease owner, so nothing here depends on the owner. */
export function createWaiting(parts: WaitingParts): Waiting {
  const { endpointPool, clock, closing, waits, awaited, txOf } = parts
  const { reach, whenAccepted, countOf } = createStageWaits({ clock, closing, waits, awaited, txOf })
  const receipts = createLandedReceipts(parts)

  async function land(
    transaction: Transaction,
    stage: WaitStage,
    interrupted: Promise<never>,
  ): Promise<Landed> {
    for (;;) {
      await reach(transaction, stage, interrupted)
      if (!hasReached(transaction, 'sealed')) return receipts.preconfirmed(transaction)
      // If an earlier read of another caller found no receipt, this caller waits until the next read is due.
      if (receipts.missing(transaction)) await receipts.due(transaction, interrupted)
      const landed = await receipts.sealed(transaction)
      const missing = landed ? undefined : receipts.missing(transaction)
      transaction.missingReceipt = missing
      if (landed) return landed
      if (missing && receipts.isHopeless(transaction, missing)) throw noReceipt(transaction, missing)
      // The receipt is not available yet, or its block left the chain during the request.
      await receipts.due(transaction, interrupted)
    }
  }

  function isUnsupported(stage: WaitStage): stage is 'safe' | 'finalized' {
    if (stage !== 'safe' && stage !== 'finalized') return false
    return !parts.declaresFinality && endpointPool.tracker.tag(stage) === 'absent'
  }

  return {
    wait<stage extends WaitStage>(transaction: Transaction, stage: stage, options: WaitOptions) {
      const missing = () => receipts.missing(transaction)
      return interruptible({ clock, transaction, options, missing }, async (interrupted) => {
        if (isUnsupported(stage)) throw tagError(transaction, stage)
        const landed = await land(transaction, stage, interrupted)
        if (options.throwOnRevert && landed.status === 'reverted') {
          // A block that is being built has no state on which the transaction could be replayed.
          if (landed.stage !== 'preconfirmed') {
            const { blockNumber } = landed.receipt
            await Promise.race([receipts.whyReverted(transaction, blockNumber), interrupted])
          }
          throw revertedError(transaction)
        }
        return landed as Landed<Chain, stage>
      })
    },
    accepted: (transaction, untilMs) =>
      new Promise((reached, failed) => whenAccepted(transaction, { reached, failed }, untilMs)),
    whenAccepted,
    async within(transaction, options, work) {
      const { timeoutMs, signal } = options
      if (timeoutMs === undefined && signal === undefined) return work()
      return interruptible({ clock, transaction, options }, (interrupted) =>
        Promise.race([work(), interrupted]),
      )
    },
    countOf,
    isUnsupported,
  }
}

/**
 * Runs the wait of a caller, who may end it by a timeout or a signal: then `interrupted` rejects, against which the work
 * races its steps. This costs no AbortController for each wait.
 */
export async function interruptible<T>(
  parts: {
    readonly clock: Clock
    readonly transaction: Transaction
    readonly options: Pick<WaitOptions, 'timeoutMs' | 'signal'>
    /** The receipt that the wait lacks, for the error of the timeout. */
    readonly missing?: () => MissingReceipt | undefined
  },
  work: (interrupted: Promise<never>) => Promise<T>,
): Promise<T> {
  const { clock, transaction, options, missing = () => undefined } = parts
  const { timeoutMs, signal } = options
  const clears: (() => void)[] = []
  const interrupted = new Promise<never>((_, reject) => {
    if (timeoutMs !== undefined) {
      const late = () => reject(timeoutError(transaction, timeoutMs, missing()))
      clears.push(clock.setTimer(late, timeoutMs))
    }
    if (signal) {
      const abort = () =>
        reject(txError(transaction, 'ABORTED', fateNow(transaction), 'The wait was aborted.'))
      if (signal.aborted) abort()
      clears.push(onAbort(signal, abort))
    }
  })
  // It may reject when the work awaits nothing of it.
  interrupted.catch(() => {})
  try {
    return await work(interrupted)
  } finally {
    for (const clear of clears) clear()
  }
}
