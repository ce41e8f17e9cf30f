import type { Address, Chain, TransactionReceipt } from 'viem'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import type { Clock } from '../../platform/clock.js'
import { onAbort } from '../../platform/onAbort.js'
import { createRepeats, kindOfError, type Repeats } from '../../platform/repeats.js'
import { reportError } from '../../platform/reportError.js'
import { createStopSignal, type StopSignal } from '../../platform/stopSignal.js'
import type { FeePolicy, Limits, Tx } from '../../types/index.js'
import type { LaneKey, StoredTransaction } from '../../types/store.js'
import type { Emitter } from '../emitter.js'
import type { GroupCounts } from '../queue/groups.js'
import { hasFailed, type Transaction } from '../transaction/transaction.js'
import { abortBy, createTxHandles, type TxOperations } from '../transaction/tx.js'
import { createWaiting, type Waiting } from '../transaction/waiting.js'
import { closedLaneError } from './closedLaneError.js'
import { createFeeSettings, type FeeSettings } from './feeSettings.js'
import { createStoreTrouble, type StoreTrouble } from './storeTrouble.js'

/**
 * What of a lane outlives whoever works it: the objects that callers of this process have, who waits for them, and who
 * listens.
 */
export type LaneSession = {
  readonly key: LaneKey
  readonly events: Emitter
  /** What nobody awaits, on its way to the event `error`. */
  readonly errors: Repeats<Error>
  /** Transactions that have not ended, by id. Elsewhere than with the holder: those that somebody here asked for. */
  readonly transactions: Map<string, Transaction>
  /** The public face of a transaction: always the same object. */
  readonly txOf: (transaction: Transaction) => Tx
  readonly waiting: Waiting
  /** What the lane may offer. */
  readonly settings: FeeSettings
  /** Promises that somebody waits for: the poller looks closely while there are any. */
  readonly waits: number
  /** Somebody waits for as long as the work takes. */
  readonly whileWaiting: <T>(work: () => Promise<T>) => Promise<T>
  /** From now on the caller's signal is heeded, until the transaction has its verdict. */
  attachSignal(transaction: Transaction, signal: AbortSignal | undefined): void
  /** It comes from another lane: what callers asked for on the way there, and nobody heeded, is asked for again. */
  replayCallerRequests(transaction: Transaction): void
  /**
   * What callers of this process have of a transaction that another lane of its pool handed to this one: it is known
   * here from now on, and there no more.
   */
  adopt(stored: Pick<StoredTransaction, 'id' | 'pooled'>): Transaction | undefined
  /** What callers do with it, and wait for, goes by these from now on. */
  rebindTx(
    transaction: Transaction,
    by: { readonly operations: TxOperations; readonly waiting: Waiting },
  ): void
  /** Of the store that the lane is in. */
  readonly storeTrouble: StoreTrouble
  /** Set when the lane is opened. */
  handedOff: HandedOff | undefined
  /** It is another lane's by now; set by whoever works the lane. */
  left: ((transaction: Transaction) => void) | undefined
  /** Set by a pool. */
  rebalancing: Rebalancing | undefined
  /** After it nobody of this process works the lane, or waits for it. */
  readonly closing: StopSignal & { stop(): void }
  /** A receipt was read that fits; set by whoever works the lane. */
  receipt: ((receipt: TransactionReceipt) => void) | undefined
  /** Nothing is to be reserved here. */
  paused: boolean
  /** Who answers callers now; set by whoever begins to work the lane, before anybody can ask. */
  operations: TxOperations | undefined
}

/**
 * Transactions that callers of this process have, of lanes that are not open in this process: a pool handed them to another
 * lane, or a caller found them by their ids. The store shows their progress, and carries commands to the owner of such a lane.
 */
export type HandedOff = {
  add(transaction: Transaction, stored: StoredTransaction): void
  /** The transaction of a record that was read from the store. */
  found(stored: StoredTransaction): Transaction
  /** Another account has sent a transaction that a caller here was about to send. The caller gets that one. */
  take(transaction: Transaction, stored: StoredTransaction): Transaction
}

/** Where what a lane does not send may go. */
export type Rebalancing = {
  /** Asked before each series of transactions. */
  places(): FindFundedLane
  /** What is in use of each lane of the pool in this process, this one among them. */
  lanes(): readonly GroupCounts[]
  /** Its pool retires it: all that is not bound to it goes elsewhere. */
  readonly isLeaving: boolean
}

/**
 * The lane that takes one more transaction of at most this cost, and none of those named; `later`: it is being found
 * out; undefined where there is none. Whoever asks hands it over: what was answered before counts.
 */
export type FindFundedLane = (costWei: bigint, not: readonly Address[]) => LaneKey | 'later' | undefined

// The caller's signals, for transactions that go from lane to lane.
const signals = new WeakMap<Transaction, AbortSignal>()

export function createLaneSession(options: {
  readonly key: LaneKey
  readonly events: Emitter
  readonly endpointPool: EndpointPool
  readonly clock: Clock
  readonly fees: FeePolicy<Chain> | undefined
  /** For what stands for no unfinished work. */
  readonly background: Clock
  readonly limits: Pick<Limits, 'receiptPatienceMs' | 'readTimeoutMs'>
  readonly beside: (address: Address) => LaneSession | undefined
}): LaneSession {
  const { key, events, endpointPool, clock, limits } = options
  const closing = createStopSignal(closedLaneError)
  const errors = createRepeats<Error>({
    clock: options.background,
    kindOf: kindOfError,
    tell: (error, times) => events.emit('error', { error, times }),
  })
  closing.listen(errors.stop)
  const operations = () => session.operations as TxOperations
  const facesBy = (by: { operations: () => TxOperations; waiting: () => Waiting }) =>
    createTxHandles({ chain: endpointPool.chain, address: key.address, clock, closing, ...by })
  const faces = facesBy({ operations, waiting: () => session.waiting })
  const txOf = faces.of
  let waits = 0

  function begin(): void {
    // With others waiting the poller looks closely already.
    if (waits++ === 0) endpointPool.tracker.plan()
  }

  function end(): void {
    waits--
  }

  async function counted<T>(work: () => Promise<T>): Promise<T> {
    begin()
    try {
      return await work()
    } finally {
      end()
    }
  }

  const session: LaneSession = {
    key,
    events,
    errors,
    transactions: new Map(),
    txOf,
    settings: createFeeSettings(options.fees),
    waiting: createWaiting({
      endpointPool,
      clock,
      receiptPatienceMs: limits.receiptPatienceMs,
      readTimeoutMs: limits.readTimeoutMs,
      closing,
      waits: { begin, end },
      txOf,
      reverted: (transaction) => events.emit('reverted', { tx: txOf(transaction) }),
      receipt: (receipt) => session.receipt?.(receipt),
      learned: (transaction) => session.operations?.keep(transaction),
    }),
    get waits() {
      return waits
    },
    whileWaiting: counted,
    attachSignal(transaction, signal) {
      if (signal === undefined || hasFailed(transaction)) return
      const abort = () => abortBy(transaction, operations())
      if (signal.aborted) return abort()
      signals.set(transaction, signal)
      transaction.detachSignal = onAbort(signal, abort)
    },
    replayCallerRequests(transaction) {
      if (signals.get(transaction)?.aborted) abortBy(transaction, operations())
      if (transaction.cancelWaiters === undefined) return
      void transaction.handle?.cancel().catch((error: unknown) => {
        if (!closing.stopped()) reportError(session, error)
      })
    },
    rebindTx: (transaction, by) =>
      facesBy({ operations: () => by.operations, waiting: () => by.waiting }).take(transaction),
    adopt({ id, pooled = [] }) {
      for (const address of pooled) {
        const before = options.beside(address)
        const transaction = before?.transactions.get(id)
        if (before === undefined || transaction === undefined) continue
        before.transactions.delete(id)
        session.transactions.set(id, transaction)
        if (transaction.handle) faces.take(transaction)
        before.left?.(transaction)
        return transaction
      }
      return undefined
    },
    storeTrouble: createStoreTrouble(clock),
    handedOff: undefined,
    left: undefined,
    rebalancing: undefined,
    closing,
    receipt: undefined,
    paused: false,
    operations: undefined,
  }
  return session
}
