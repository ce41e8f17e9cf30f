import type { TxlaneError } from '../../errors/base.js'
import type { Clock } from '../../platform/clock.js'
import type { Tx, WaitStage } from '../../types/index.js'
import { hasReached, type Transaction } from './transaction.js'
import { closedError, fateNow, txError, unresolvedError } from './txError.js'

/** Callbacks of one wait; one of them is called, once. */
export type Waiter = {
  readonly stage: WaitStage | 'accepted'
  /** The stage was reached, or a later one. */
  readonly reached: (tx: Tx) => void
  /** The stage will not be reached. */
  readonly failed: (error: TxlaneError) => void
  /** The handle that `reached` receives. */
  readonly tx: Tx
  /** The wait has ended. */
  readonly over: (stage: Waiter['stage']) => void
}

/** Notifies the waiters for the stages that the transaction has reached. */
export function notifyReached(transaction: Transaction): void {
  const { waiters } = transaction
  if (waiters === undefined) return
  keepWaiters(transaction, ({ stage }) => !hasReached(transaction, stage))
  for (const waiter of waiters) if (hasReached(transaction, waiter.stage)) settle(waiter)
}

function settle({ stage, over, reached, failed, tx }: Waiter, error?: TxlaneError): void {
  over(stage)
  if (error) failed(error)
  else reached(tx)
}

function keepWaiters(transaction: Transaction, stays: (waiter: Waiter) => boolean): void {
  const left = transaction.waiters?.filter(stays)
  transaction.waiters = left?.length ? left : undefined
}

/**
 * For how many milliseconds a caller waits for the receipt. Undefined if no caller does, or only for a later
 * stage.
 */
export function receiptWithinMsOf({ waiters, receiptWithinMs }: Transaction): number | undefined {
  const isAwaited = waiters?.some(({ stage }) => stage === 'preconfirmed' || stage === 'sealed')
  return isAwaited ? Number.POSITIVE_INFINITY : receiptWithinMs
}

/** Rejects all waiters. The transaction itself continues. */
export function rejectWaiters(transaction: Transaction, error: TxlaneError): void {
  const waiters = transaction.waiters ?? []
  transaction.waiters = undefined
  for (const waiter of waiters) settle(waiter, error)
}

/** Rejects the callers of `send`. Callers that wait for a later stage continue to wait. */
export function rejectSenders(transaction: Transaction, error: TxlaneError): void {
  rejectWaitersFor(transaction, 'accepted', error)
}

/** Rejects the callers that wait for this stage. The others continue to wait. */
export function rejectWaitersFor(transaction: Transaction, stage: Waiter['stage'], error: TxlaneError): void {
  const { waiters = [] } = transaction
  keepWaiters(transaction, (waiter) => waiter.stage !== stage)
  for (const waiter of waiters) if (waiter.stage === stage) settle(waiter, error)
}

function addWaiter(transaction: Transaction, waiter: Waiter): void {
  const { waiters } = transaction
  transaction.waiters = waiters === undefined ? [waiter] : [...waiters, waiter]
}

/** Returns false if the waiter was notified already. */
function dropWaiter(transaction: Transaction, waiter: Waiter): boolean {
  const waits = transaction.waiters?.includes(waiter) ?? false
  keepWaiters(transaction, (other) => other !== waiter)
  return waits
}

type StageWaitsParts = {
  readonly clock: Pick<Clock, 'now' | 'setTimer'>
  readonly closing: AbortSignal
  /** A caller waits from `begin` until `end`. */
  readonly waits: { begin(): void; end(): void }
  /** A caller waits for a stage that the transaction has not reached. */
  readonly awaited: (transaction: Transaction) => void
  readonly txOf: (transaction: Transaction) => Tx
}

/** Callbacks of one caller. */
export type StageCallbacks = Pick<Waiter, 'reached' | 'failed'>

/** The callers that wait for a stage of a transaction. */
type StageWaits = {
  /** Resolves when the transaction has reached the stage. */
  reach(transaction: Transaction, stage: WaitStage, interrupted: Promise<never>): Promise<void>
  /** `untilMs`: in clock milliseconds. */
  whenAccepted(transaction: Transaction, callbacks: StageCallbacks, untilMs?: number): void
  /** The number of callers that wait for this stage. The cost does not depend on the number of transactions. */
  countOf(stage: WaitStage): number
}

export function createStageWaits({ clock, closing, waits, awaited, txOf }: StageWaitsParts): StageWaits {
  /** Number of callers that wait for each stage. */
  const counts = new Map<Waiter['stage'], number>()

  /** Calls back at once if the stage is reached, or will not be; otherwise adds a waiter. */
  function whenReached(
    transaction: Transaction,
    stage: Waiter['stage'],
    { reached, failed }: StageCallbacks,
  ): Waiter | undefined {
    const { failure } = transaction
    // An existing handle is kept as it is, because it may belong to another lane of the pool.
    const tx = transaction.handle ?? txOf(transaction)
    if (failure && transaction.endPersisted) failed(failure)
    else if (transaction.unresolved) failed(unresolvedError(transaction))
    else if (hasReached(transaction, stage)) reached(tx)
    else if (closing.aborted) failed(closedError(transaction))
    else {
      const waiter: Waiter = { stage, reached, failed, tx, over }
      waits.begin()
      counts.set(stage, (counts.get(stage) ?? 0) + 1)
      addWaiter(transaction, waiter)
      awaited(transaction)
      return waiter
    }
    return undefined
  }

  function over(stage: Waiter['stage']): void {
    waits.end()
    counts.set(stage, (counts.get(stage) ?? 1) - 1)
  }

  return {
    async reach(transaction, stage, interrupted) {
      let waiter: Waiter | undefined
      const reached = new Promise<Tx>((resolve, failed) => {
        waiter = whenReached(transaction, stage, { reached: resolve, failed })
      })
      await Promise.race([reached, interrupted]).finally(() => {
        if (waiter && dropWaiter(transaction, waiter)) over(stage)
      })
    },
    whenAccepted(transaction, callbacks, untilMs) {
      if (untilMs === undefined) return void whenReached(transaction, 'accepted', callbacks)
      let cancel = () => {}
      const waiter = whenReached(transaction, 'accepted', {
        reached(tx) {
          cancel()
          callbacks.reached(tx)
        },
        failed(error) {
          cancel()
          callbacks.failed(error)
        },
      })
      if (waiter === undefined) return
      const late = () => {
        if (!dropWaiter(transaction, waiter)) return
        over('accepted')
        const message = 'It was taken on, and no endpoint has accepted it in time. It goes on.'
        callbacks.failed(txError(transaction, 'WAIT_TIMEOUT', fateNow(transaction), message))
      }
      cancel = clock.setTimer(late, Math.max(0, untilMs - clock.now()))
    },
    countOf: (stage) => counts.get(stage) ?? 0,
  }
}
