import type { Chain, TransactionReceipt } from 'viem'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import type { MissingReceipt } from '../../chain/endpoints/receipts.js'
import { replay } from '../../chain/endpoints/replay.js'
import { TxlaneError, type TxlaneErrorCode } from '../../errors/base.js'
import type { Clock } from '../../platform/clock.js'
import { onAbort } from '../../platform/onAbort.js'
import { raceStop, type StopSignal } from '../../platform/stopSignal.js'
import type { CancelOptions, Landed, Tx, WaitOptions, WaitStage } from '../../types/index.js'
import { REVERTED } from '../../validate/stageOrder.js'
import { noteReceipt } from './costs.js'
import { revertCause } from './failure.js'
import { describe, hasReached, type Transaction } from './transaction.js'
import { txError } from './txError.js'
import { unresolvedError } from './unresolved.js'
import { addWaiter, dropWaiter, type Waiter } from './waiters.js'

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
  whenAccepted(transaction: Transaction, told: Told, untilMs?: number): void
  /** The result of the work, within the timeout and the signal of its caller. The work itself continues. */
  within<T>(transaction: Transaction, options: CancelOptions, work: () => Promise<T>): Promise<T>
  /** A caller waits for this stage. The cost does not depend on the number of transactions. */
  waitsFor(stage: WaitStage): boolean
}

/**
 * After this many receipts that contradict a final block, and this time, no matching receipt is to be
 * expected.
 */
const FINAL_MISFITS = 3
const FINAL_PATIENCE_MS = 30_000

type Told = Pick<Waiter, 'reached' | 'failed'>

type Interrupt = { readonly promise: Promise<never>; readonly clear: () => void }

/** Waits continue if the lane moves to another lease owner, so that nothing here depends on the owner. */
export function createWaiting(parts: {
  readonly endpointPool: EndpointPool
  readonly clock: Clock
  readonly receiptPatienceMs: number
  readonly closing: StopSignal
  /** A caller waits from `begin` until `end`. */
  readonly waits: { begin(): void; end(): void }
  readonly txOf: (transaction: Transaction) => Tx
  readonly reverted: (transaction: Transaction) => void
  /** The receipt added data to the transaction's record. */
  readonly learned: (transaction: Transaction) => void
  readonly readTimeoutMs: number
  /** Called with each requested receipt that belongs to the transaction's block. */
  readonly receipt: (receipt: TransactionReceipt) => void
}): Waiting {
  const { endpointPool, clock, closing, waits, txOf } = parts
  const { receipts } = endpointPool
  const replays = new WeakMap<Transaction, Promise<void>>()
  /** Number of callers that wait for each stage. */
  const waited = new Map<Waiter['stage'], number>()

  /** Calls back at once if the stage is reached, or will not be; otherwise adds a waiter. */
  function whenReached(transaction: Transaction, stage: Waiter['stage'], told: Told): Waiter | undefined {
    const { failure } = transaction
    // An existing handle is kept as it is, because it may belong to another lane of the pool.
    const tx = transaction.handle ?? txOf(transaction)
    if (failure && transaction.endPersisted) told.failed(failure)
    else if (transaction.unresolved) told.failed(unresolvedError(transaction))
    else if (hasReached(transaction, stage)) told.reached(tx)
    else if (closing.stopped()) told.failed(closedError(transaction))
    else {
      const waiter: Waiter = { stage, reached: told.reached, failed: told.failed, tx, over }
      waits.begin()
      waited.set(stage, (waited.get(stage) ?? 0) + 1)
      addWaiter(transaction, waiter)
      return waiter
    }
    return undefined
  }

  function over(stage: Waiter['stage']): void {
    waits.end()
    waited.set(stage, (waited.get(stage) ?? 1) - 1)
  }

  async function reach(transaction: Transaction, stage: WaitStage, interrupt: Interrupt): Promise<void> {
    let waiter: Waiter | undefined
    const reached = new Promise<Tx>((resolve, failed) => {
      waiter = whenReached(transaction, stage, { reached: resolve, failed })
    })
    await Promise.race([reached, interrupt.promise]).finally(() => {
      if (waiter && dropWaiter(transaction, waiter)) over(stage)
    })
  }

  function whenAccepted(transaction: Transaction, told: Told, untilMs?: number): void {
    if (untilMs === undefined) return void whenReached(transaction, 'accepted', told)
    let cancel = () => {}
    const waiter = whenReached(transaction, 'accepted', {
      reached(tx) {
        cancel()
        told.reached(tx)
      },
      failed(error) {
        cancel()
        told.failed(error)
      },
    })
    if (waiter === undefined) return
    const late = () => {
      if (!dropWaiter(transaction, waiter)) return
      over('accepted')
      const message = 'It was taken on, and no endpoint has accepted it in time. It goes on.'
      told.failed(txError(transaction, 'WAIT_TIMEOUT', fateNow(transaction), message))
    }
    cancel = clock.setTimer(late, Math.max(0, untilMs - clock.now()))
  }

  async function land(transaction: Transaction, stage: WaitStage, interrupt: Interrupt): Promise<Landed> {
    for (;;) {
      await reach(transaction, stage, interrupt)
      if (!hasReached(transaction, 'sealed')) return preconfirmed(transaction)
      // Another caller has requested the receipt a moment ago.
      if (missing(transaction)) await due(transaction, interrupt)
      const landed = await sealed(transaction)
      const said = landed ? undefined : missing(transaction)
      transaction.missingReceipt = said
      if (landed) return landed
      if (said && isHopeless(transaction, said)) throw noReceipt(transaction, said)
      // The receipt is not available yet, or its block left the chain during the request.
      await due(transaction, interrupt)
    }
  }

  /**
   * Resolves when the receipt may be requested again. It does not make the poller faster, because the block
   * has proven the execution.
   */
  async function due(transaction: Transaction, interrupt: Interrupt): Promise<void> {
    const closed: StopSignal = { ...closing, error: () => closedError(transaction) }
    const { hash } = transaction
    const { promise, drop } =
      hash === undefined
        ? { promise: endpointPool.tracker.nextTick(), drop() {} }
        : receipts.due(hash, transaction.block)
    await Promise.race([raceStop(promise, [closed]), interrupt.promise]).finally(drop)
  }

  function missing(transaction: Transaction): MissingReceipt | undefined {
    const { hash, block } = transaction
    return hash && receipts.missing(hash, block)
  }

  function isHopeless({ stage, settled, block }: Transaction, { sinceMs, misfits }: MissingReceipt): boolean {
    const waitedMs = clock.now() - sinceMs
    if (waitedMs >= parts.receiptPatienceMs) return true
    // If it was read from the store after it became final, its block is unknown.
    const isFinal = stage === 'finalized' || (settled && block === undefined)
    return isFinal && misfits >= FINAL_MISFITS && waitedMs >= FINAL_PATIENCE_MS
  }

  async function sealed(transaction: Transaction): Promise<Landed | undefined> {
    const { hash, block, nonce } = transaction
    if (transaction.landed) return { ...transaction.landed, stage: atLeastSealed(transaction) } as Landed
    if (hash === undefined || nonce === undefined)
      return transaction.settled ? proven(transaction) : undefined
    // Without a known block any receipt of the hash is valid: the transaction was read from the store after
    // it became final.
    const receipt = await receipts.get(hash, block)
    if (receipt === undefined || transaction.block?.hash !== block?.hash) return undefined
    parts.receipt(receipt)
    tellReverted(transaction, receipt)
    if (noteReceipt(transaction, receipt, clock)) parts.learned(transaction)
    if (receipt.status === 'reverted') void whyReverted(transaction, receipt.blockNumber)
    const landed = { id: transaction.id, nonce, hash, status: receipt.status, receipt } as const
    // A process that does not walk the chain does not learn that the block leaves, so that it requests the
    // receipt each time.
    if (block !== undefined || transaction.settled)
      transaction.landed = { ...landed, stage: 'sealed' } as unknown as Landed
    return { ...landed, stage: atLeastSealed(transaction) } as unknown as Landed
  }

  /** Determines the revert data, once for all callers. Only callers that want the error wait for it. */
  function whyReverted(transaction: Transaction, block: bigint): Promise<void> {
    const known = transaction.revertData === undefined ? replays.get(transaction) : Promise.resolve()
    if (known) return known
    const { request, lane, gas } = transaction
    const at = { block: Number(block), timeoutMs: parts.readTimeoutMs }
    const replaying = replay(endpointPool, { request, from: lane.address, gas }, at).then((data) => {
      if (data === undefined || transaction.status !== 'reverted') return
      transaction.revertData = data
      parts.learned(transaction)
    })
    replays.set(transaction, replaying)
    return replaying
  }

  /** Executed by the operator's decision, so that no receipt is available. */
  function proven(transaction: Transaction): never {
    throw txError(
      transaction,
      'UNRESOLVED',
      'executed',
      'It executed by the decision of the operator; its receipt is not known.',
    )
  }

  function tellReverted(transaction: Transaction, { status }: Pick<Landed, 'status'>): void {
    if (transaction.status === undefined && status === 'reverted') parts.reverted(transaction)
  }

  /**
   * Not every endpoint serves receipts of pre-confirmed transactions. Without a receipt the status is
   * unknown.
   */
  async function preconfirmed(transaction: Transaction): Promise<Landed> {
    const { id, nonce = -1, hash = '0x' } = transaction
    const found = await receipts.look(hash)
    const base = { id, nonce, hash, stage: 'preconfirmed' as const }
    if (found === undefined) return { ...base, receipt: null }
    return { ...base, status: found.status, receipt: { ...found, blockHash: null } }
  }

  function checkTag(transaction: Transaction, stage: WaitStage): void {
    const isTag = stage === 'safe' || stage === 'finalized'
    if (isTag && endpointPool.tracker.tag(stage) === 'absent') throw tagError(transaction, stage)
  }

  return {
    async wait<stage extends WaitStage>(transaction: Transaction, stage: stage, options: WaitOptions) {
      const interrupt = interruptOf(clock, transaction, options, () => missing(transaction))
      try {
        checkTag(transaction, stage)
        const landed = await land(transaction, stage, interrupt)
        if (options.throwOnRevert && landed.status === 'reverted') {
          // A block that is being built has no state on which the transaction could be replayed.
          if (landed.stage !== 'preconfirmed')
            await Promise.race([whyReverted(transaction, landed.receipt.blockNumber), interrupt.promise])
          throw revertedError(transaction)
        }
        return landed as Landed<Chain, stage>
      } finally {
        interrupt.clear()
      }
    },
    accepted: (transaction, untilMs) =>
      new Promise((reached, failed) => whenAccepted(transaction, { reached, failed }, untilMs)),
    whenAccepted,
    async within(transaction, options, work) {
      const { timeoutMs, signal } = options
      if (timeoutMs === undefined && signal === undefined) return work()
      const interrupt = interruptOf(clock, transaction, options)
      try {
        return await Promise.race([work(), interrupt.promise])
      } finally {
        interrupt.clear()
      }
    },
    waitsFor: (stage) => (waited.get(stage) ?? 0) > 0,
  }
}

/** Ends a wait by the timeout or the signal of its caller. */
export function interruptOf(
  clock: Clock,
  transaction: Transaction,
  { timeoutMs, signal }: Pick<WaitOptions, 'timeoutMs' | 'signal'>,
  missing: () => MissingReceipt | undefined = () => undefined,
): Interrupt {
  const clears: (() => void)[] = []
  const promise = new Promise<never>((_, reject) => {
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
  // It may reject after the race has ended.
  promise.catch(() => {})
  return { promise, clear: () => clears.forEach((clear) => void clear()) }
}

function atLeastSealed(transaction: Transaction): 'sealed' | 'safe' | 'finalized' {
  const { stage } = transaction
  return stage === 'safe' || stage === 'finalized' ? stage : 'sealed'
}

function fateNow(transaction: Transaction): 'executed' | 'inFlight' {
  return hasReached(transaction, 'sealed') ? 'executed' : 'inFlight'
}

function timeoutError(
  transaction: Transaction,
  timeoutMs: number,
  missing: MissingReceipt | undefined,
): TxlaneError {
  const message = `Not there after ${timeoutMs} ms.`
  const fate = fateNow(transaction)
  if (missing === undefined) return txError(transaction, 'WAIT_TIMEOUT', fate, message)
  return receiptError(
    transaction,
    'WAIT_TIMEOUT',
    `${message} It executed, and its receipt is missing.`,
    missing,
  )
}

function noReceipt(transaction: Transaction, missing: MissingReceipt): TxlaneError {
  const { block } = transaction
  const where = block === undefined ? '' : ` in block ${block.number}`
  const message = `It executed${where}, and no endpoint shows a receipt that fits.`
  return receiptError(transaction, 'NO_RECEIPT', message, missing)
}

function receiptError(
  transaction: Transaction,
  code: TxlaneErrorCode,
  message: string,
  { said }: MissingReceipt,
): TxlaneError {
  const details = [...said].map(([name, words]) => `${name}: ${words}`).join('; ')
  return new TxlaneError(message, { code, fate: 'executed', tx: describe(transaction), details })
}

function revertedError(transaction: Transaction): TxlaneError {
  const { revertData } = transaction
  const cause = revertData && revertCause(REVERTED, revertData)
  return txError(transaction, 'REVERTED', 'executed', REVERTED, cause)
}

/** The endpoint reported that it does not have the tag. */
export function tagError(transaction: Transaction, stage: 'safe' | 'finalized'): TxlaneError {
  const message = `The endpoint has no ${stage} tag: wait for 'sealed' and count blocks.`
  return txError(transaction, 'UNSUPPORTED', fateNow(transaction), message)
}

export function closedError(transaction: Transaction): TxlaneError {
  return txError(
    transaction,
    'CLOSED',
    fateNow(transaction),
    'The sender was closed. Journaled transactions may still execute.',
  )
}
