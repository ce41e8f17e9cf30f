import type { Address, Chain, TransactionReceipt } from 'viem'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import { isTxlaneError } from '../../errors/base.js'
import { quoteOf } from '../../errors/quote.js'
import type { Clock } from '../../platform/clock.js'
import { onAbort } from '../../platform/onAbort.js'
import { createRepeats, kindOfError, type Repeats } from '../../platform/repeats.js'
import { reportError } from '../../platform/reportError.js'
import { isReplaced } from '../../store/replaced.js'
import type { FeePolicy, LaneOptions, Limits, Tx } from '../../types/index.js'
import type { LaneKey, StoredTransaction } from '../../types/store.js'
import type { Emitter } from '../emitter.js'
import type { GroupCounts } from '../queue/groups.js'
import { hasFailed, type Transaction } from '../transaction/transaction.js'
import { abortBy, createTxHandles, type TxOperations } from '../transaction/tx.js'
import { createWaiting, type Waiting } from '../transaction/waiting.js'
import { closedLaneError } from './closedError.js'
import { createFeeSettings, type FeeSettings } from './feeSettings.js'

/**
 * The part of a lane that outlives its worker (leader or standby): the `Tx` objects of callers in this
 * process, their waits and their listeners.
 */
export type LaneSession = {
  readonly key: LaneKey
  readonly events: Emitter
  /** Errors without an awaiting caller; they are emitted as the event `error`. */
  readonly errors: Repeats<Error>
  /**
   * Transactions that have not ended, by id. A standby has only the transactions that a caller of this
   * process requested.
   */
  readonly transactions: Map<string, Transaction>
  /** The public `Tx` of a transaction: always the same object. */
  readonly txOf: (transaction: Transaction) => Tx
  readonly waiting: Waiting
  /** The fee settings of the lane. */
  readonly settings: FeeSettings
  /** Number of pending waits of callers. The poller polls faster while there are any. */
  readonly waits: number
  /** Counts as one wait for the duration of the work. */
  readonly whileWaiting: <T>(work: () => Promise<T>) => Promise<T>
  /** The same, and each tick reads the account's counts at `latest` and at `pending`. */
  readonly whileCounting: <T>(work: () => Promise<T>) => Promise<T>
  readonly isCounting: boolean
  /** Obeys the caller's signal from now on, until the outcome of the transaction is known. */
  attachSignal(transaction: Transaction, signal: AbortSignal | undefined): void
  /**
   * The transaction came from another lane. Repeats the requests of callers (abort, cancel) that were made
   * during the move and not handled.
   */
  replayCallerRequests(transaction: Transaction): void
  /**
   * Takes over a transaction that another lane of the same sender pool handed to this one, with the `Tx` that
   * callers of this process have. From now on this session knows it, and the other one does not.
   */
  adopt(stored: Pick<StoredTransaction, 'id' | 'pooled'>): Transaction | undefined
  /** From now on the operations and waits of callers on this transaction use `by`. */
  rebindTx(
    transaction: Transaction,
    by: { readonly operations: TxOperations; readonly waiting: Waiting },
  ): void
  /** The state of the lane's store. */
  readonly storeTrouble: StoreTrouble
  /** Set when the lane opens. */
  handedOff: HandedOff | undefined
  /** Called when a transaction now belongs to another lane. Set by the worker of the lane. */
  left: ((transaction: Transaction) => void) | undefined
  /** Set by a sender pool. */
  rebalancing: Rebalancing | undefined
  /** Aborted by `close`: from then on this process neither works the lane nor waits for it. */
  readonly closing: AbortSignal
  close(): void
  /** Called when a caller waits for a stage of the transaction. Set by the worker of the lane. */
  awaited: ((transaction: Transaction) => void) | undefined
  /** Called when a caller's id turned out to be that of a sealed transaction. Set by the worker of the lane. */
  foundSealed: ((transaction: Transaction) => void) | undefined
  /** Called with each valid receipt that was read. Set by the worker of the lane. */
  receipt: ((receipt: TransactionReceipt) => void) | undefined
  /** The lane must not reserve nonces in this process. */
  paused: boolean
  /** Handles the requests of callers. The worker of the lane sets it before a caller can make a request. */
  operations: TxOperations | undefined
}

/**
 * Transactions of lanes that are not open in this process, for which a caller of this process has a `Tx`: a
 * sender pool handed them to another lane, or the caller found them by id. The store shows their progress,
 * and carries commands to the owner of such a lane.
 */
export type HandedOff = {
  add(transaction: Transaction, stored: StoredTransaction): void
  /** Returns the transaction for a record that was read from the store. */
  found(stored: StoredTransaction): Transaction
  /**
   * Another account has already sent the transaction that a caller of this process was about to send. Returns
   * that transaction, which the caller gets.
   */
  take(transaction: Transaction, stored: StoredTransaction): Transaction
}

/** Moves transactions that a lane cannot send to other lanes of its sender pool. */
export type Rebalancing = {
  /** Called before each series of transactions; its result is valid for the series. */
  places(): FindFundedLane
  /** The counts of each lane of the pool in this process, including this lane. */
  lanes(): readonly GroupCounts[]
  /** The pool retires this lane: every transaction that is not bound to it moves to another lane. */
  readonly isLeaving: boolean
}

/**
 * Returns the lane that accepts one more transaction of at most this cost, excluding the addresses in `not`.
 * `later`: it is being determined. Undefined if there is none. The function assumes that the caller hands the
 * transaction over, so its later answers count this one.
 */
export type FindFundedLane = (costWei: bigint, not: readonly Address[]) => LaneKey | 'later' | undefined

// Signals of callers, for transactions that move from lane to lane.
const signals = new WeakMap<Transaction, AbortSignal>()

export function createLaneSession(options: {
  readonly key: LaneKey
  readonly events: Emitter
  readonly endpointPool: Pick<EndpointPool, 'chain' | 'reader' | 'receipts' | 'tracker'>
  readonly clock: Clock
  readonly fees: FeePolicy<Chain> | undefined
  readonly finality: LaneOptions<Chain>['finality']
  /** The clock for timers that must not keep the process alive. */
  readonly background: Clock
  readonly limits: Pick<Limits, 'receiptPatienceMs' | 'readTimeoutMs'>
  readonly beside: (address: Address) => LaneSession | undefined
}): LaneSession {
  const { key, events, endpointPool, clock, limits } = options
  const closer = new AbortController()
  const closing = closer.signal
  const errors = createRepeats<Error>({
    clock: options.background,
    kindOf: kindOfError,
    report: (error, times) => events.emit('error', { error, times }),
  })
  onAbort(closing, errors.stop)
  const operations = () => session.operations as TxOperations
  const handlesBy = (by: { operations: () => TxOperations; waiting: () => Waiting }) =>
    createTxHandles({ chain: endpointPool.chain, address: key.address, clock, closing, ...by })
  const handles = handlesBy({ operations, waiting: () => session.waiting })
  const txOf = handles.of
  const waits = createWaits(() => endpointPool.tracker.plan())

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
      declaresFinality: options.finality !== undefined,
      receiptPatienceMs: limits.receiptPatienceMs,
      readTimeoutMs: limits.readTimeoutMs,
      closing,
      waits,
      awaited: (transaction) => session.awaited?.(transaction),
      txOf,
      reverted: (transaction) => events.emit('reverted', { tx: txOf(transaction) }),
      receipt: (receipt) => session.receipt?.(receipt),
      learned: (transaction) => session.operations?.keep(transaction),
    }),
    get waits() {
      return waits.count
    },
    whileWaiting: waits.during,
    whileCounting: waits.whileCounting,
    get isCounting() {
      return waits.isCounting
    },
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
        if (!closing.aborted) reportError(session, error)
      })
    },
    rebindTx: (transaction, by) =>
      handlesBy({ operations: () => by.operations, waiting: () => by.waiting }).take(transaction),
    adopt({ id, pooled = [] }) {
      for (const address of pooled) {
        const before = options.beside(address)
        const transaction = before?.transactions.get(id)
        if (before === undefined || transaction === undefined) continue
        before.transactions.delete(id)
        session.transactions.set(id, transaction)
        if (transaction.handle) handles.take(transaction)
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
    close: () => closer.abort(closedLaneError()),
    awaited: undefined,
    foundSealed: undefined,
    receipt: undefined,
    paused: false,
    operations: undefined,
  }
  return session
}

/** The waits of the callers of a lane. */
function createWaits(planPolls: () => void) {
  let count = 0
  let counts = 0

  function begin(): void {
    // While there are other waits the poller polls fast already.
    if (count++ === 0) planPolls()
  }

  function end(): void {
    count--
  }

  async function during<T>(work: () => Promise<T>): Promise<T> {
    begin()
    try {
      return await work()
    } finally {
      end()
    }
  }

  return {
    begin,
    end,
    during,
    /** Every tick reads the counts meanwhile. */
    whileCounting<T>(work: () => Promise<T>): Promise<T> {
      counts++
      return during(work).finally(() => counts--)
    },
    get count() {
      return count
    },
    get isCounting() {
      return counts > 0
    },
  }
}

/** The current failure of the store, if it does not read or write. */
type StoreTrouble = {
  readonly current:
    | { readonly sinceMs: number; readonly said: string; readonly isReplaced: boolean }
    | undefined
  /** Records a failure. Ignores errors with a code other than `STORE`. */
  failed(error: unknown): void
  works(): void
}

function createStoreTrouble(clock: Pick<Clock, 'wallNow'>): StoreTrouble {
  let current: StoreTrouble['current']
  return {
    get current() {
      return current
    },
    failed(error) {
      if (!isTxlaneError(error) || error.code !== 'STORE') return
      current = {
        sinceMs: current?.sinceMs ?? clock.wallNow(),
        said: quoteOf(error.shortMessage),
        isReplaced: isReplaced(error),
      }
    },
    works() {
      current = undefined
    },
  }
}
