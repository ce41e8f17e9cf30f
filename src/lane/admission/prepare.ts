import type { Lane } from '../../allocator/lane.js'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import { hasPrivateEndpoint } from '../../chain/endpoints/privateEndpoints.js'
import type { TxlaneError } from '../../errors/base.js'
import type { Limits } from '../../types/index.js'
import type { WaitCause } from '../../types/wait.js'
import { hasFailed, type Transaction } from '../transaction/transaction.js'
import { txError } from '../transaction/txError.js'
import { createEarlierEffects, type EarlierEffectsContext } from './earlierEffects.js'
import { createEstimateQueue } from './estimateQueue.js'
import {
  createEstimateResults,
  createGasRequests,
  createRepeatedEstimates,
  type GasRequestOptions,
  type PreparationOutcome,
  type RepeatedEstimatesContext,
} from './estimates.js'
import type { Sequences } from './sequences.js'
import { createUnknownEstimates, type UnknownEstimatesContext } from './unknownEstimates.js'

type PrepareContext = GasRequestOptions['context'] &
  EarlierEffectsContext &
  ParkedContext &
  RepeatedEstimatesContext &
  UnknownEstimatesContext & { readonly limits: Pick<Limits, 'prepareMax'> }

/**
 * Runs everything that can fail before a nonce is taken: the wait for predecessors, then the gas estimate or
 * simulation. A p-queue orders and bounds the requests to the node.
 */
export type Preparer = {
  /** Starts the preparation. `ready` or `failed` is called with the result. */
  add(transaction: Transaction): void
  /** A new sealed block: repeats the estimates that reverted on the state of transactions in flight. */
  newHead(): void
  /** More may be pre-confirmed: continues the transactions that wait for just that. */
  ticked(): void
  readonly size: number
  /** The transactions that the account could not pay for at their last estimate. */
  readonly awaitingFunds: readonly Transaction[]
  /**
   * The transactions of `awaitingFunds` that must not wait, once every nonce from before they stepped aside
   * is in a sealed block.
   */
  readonly unpaid: readonly Transaction[]
  /**
   * The transaction is ready, but the account cannot pay for it. Its gas is estimated again now and then,
   * since one answer may have been far too high.
   */
  short(transaction: Transaction): void
  /** The account cannot pay for the transaction: it steps aside until there may be money. */
  setAside(transaction: Transaction, funds: Extract<WaitCause, { for: 'funds' }>): void
  /** There may be money for the transactions that stepped aside. */
  moneyCame(): void
  /** Stops the preparation of the transaction in this lane. */
  drop(transaction: Transaction): void
}

export type PrepareOptions = GasRequestOptions &
  PreparationOutcome & {
    readonly context: PrepareContext
    readonly weightOf: (group: string | undefined) => number
    /** Whether another transaction without a nonce goes before this one. */
    readonly isBehind: (transaction: Transaction) => boolean
    readonly conditions: (transaction: Transaction) => Promise<void> | undefined
    /** Records the baseline of the declared effect before the transaction can be sent. */
    readonly note: (transaction: Transaction) => Promise<void> | undefined
    readonly sequences: Pick<Sequences, 'enter' | 'before' | 'waits'>
    /** The transaction takes its place in the order of the calls, before it is ready. */
    readonly enter: (transaction: Transaction) => void
    /** The preparation has to be repeated, or waits for other transactions. Later calls may go on. */
    readonly stepAside: (transaction: Transaction, cause: WaitCause) => void
    /** Whether the transaction is known to cost more than the account has. */
    readonly isBeyond: (transaction: Transaction) => boolean
  }

export function createPreparer(options: PrepareOptions): Preparer {
  const { context, sequences, stepAside } = options
  const { endpointPool } = context
  const gas = createGasRequests(options)
  const estimateAgain = createRepeatedEstimates(context, gas)
  const earlier = createEarlierEffects(context, options.isBehind)
  const { mayChange } = earlier
  const parked = createParkedTransactions(context, stepAside)
  const { park } = parked
  const unknowns = createUnknownEstimates(context, {
    mayChange,
    park,
    stepAside,
    prepare: (transaction, tries) => void prepare(transaction, tries),
    failed: options.failed,
  })
  const results = createEstimateResults(endpointPool, { gas, mayChange, park, unknowns, outcome: options })
  const enqueue = createEstimateQueue(context.limits.prepareMax, options.weightOf, start)

  /** Returns undefined if no node has to be asked. */
  function start(transaction: Transaction): Promise<void> | undefined {
    if (hasFailed(transaction)) return undefined
    sequences.enter(transaction)
    const waiting = options.conditions(transaction)
    if (waiting === undefined) return prepare(transaction)
    // Gives up its place in the queue of estimates, because its predecessor may be behind it.
    stepAside(transaction, { for: 'condition', after: afterOf(transaction) })
    void waiting.then(
      () => onConditionsMet(transaction),
      (error: TxlaneError) => options.failed(transaction, error),
    )
    return undefined
  }

  async function onConditionsMet(transaction: Transaction): Promise<void> {
    if (context.closed || hasFailed(transaction)) return
    earlier.conditionsMet(transaction)
    await prepare(transaction)
  }

  function prepare(transaction: Transaction, tries = 0): Promise<void> | undefined {
    // The transaction came from a process with other endpoints.
    if (transaction.record.private && !hasPrivateEndpoint(endpointPool)) {
      options.failed(transaction, noPrivateWay(transaction))
      return undefined
    }
    const noted = options.note(transaction)
    if (gas.isNeeded(transaction)) return prepareAsking(transaction, tries, noted)
    if (noted !== undefined) return noted.then(() => results.takeGiven(transaction))
    results.takeGiven(transaction)
    return undefined
  }

  async function prepareAsking(
    transaction: Transaction,
    tries: number,
    noted: Promise<void> | undefined,
  ): Promise<void> {
    earlier.estimateBegan(transaction)
    const estimate = await gas.ask(transaction)
    await noted
    earlier.estimateEnded(transaction)
    if (hasFailed(transaction) || context.closed) return
    if (estimate === undefined) return parked.follow(transaction)
    results.take(transaction, estimate, tries)
  }

  function prepareAgain(transactions: readonly Transaction[]): void {
    for (const transaction of transactions) {
      if (hasFailed(transaction)) parked.unpark(transaction)
      else if (parked.isAwaitingFunds(transaction) && options.isBeyond(transaction))
        estimateAgain(transaction)
      else {
        parked.unpark(transaction)
        parked.unfollow(transaction)
        void prepare(transaction)
      }
    }
  }

  return {
    add(transaction) {
      const isAsking = gas.isNeeded(transaction)
      // A replacement has no place of its own in the order.
      const hasPlace = transaction.replaces === undefined
      if (hasPlace && (isAsking || transaction.record.needs !== undefined)) options.enter(transaction)
      if (isAsking) enqueue(transaction)
      else void start(transaction)
    },
    newHead() {
      prepareAgain(parked.all)
      unknowns.newHead()
    },
    setAside: park,
    moneyCame: () => prepareAgain(parked.forFunds),
    ticked() {
      for (const transaction of parked.following) {
        if (sequences.waits(transaction)) continue
        parked.unfollow(transaction)
        if (!hasFailed(transaction)) void prepare(transaction)
      }
    },
    get size() {
      return parked.size + unknowns.size
    },
    get awaitingFunds() {
      return parked.forFunds.filter((one) => !hasFailed(one))
    },
    get unpaid() {
      return parked.unpaid
    },
    short: estimateAgain,
    drop(transaction) {
      parked.unpark(transaction)
      unknowns.forget(transaction)
    },
  }
}

function afterOf({ record }: Transaction): readonly string[] {
  return record.needs?.after ?? []
}

function noPrivateWay(transaction: Transaction): TxlaneError {
  const message = "It is private, and there is no 'send' endpoint."
  return txError(transaction, 'INVALID', 'notExecuted', message)
}

type ParkedContext = {
  readonly lane: Pick<Lane, 'book'>
  readonly endpointPool: Pick<EndpointPool, 'tracker'>
}

/** The transactions that wait for another state of the chain before they are prepared again. */
type ParkedTransactions = {
  /** The transaction waits for the next sealed block, or for money. */
  park(transaction: Transaction, cause: WaitCause): void
  /**
   * The transaction waits until its predecessor is visible: an earlier estimate would be about another state.
   */
  follow(transaction: Transaction): void
  /** The transaction waits neither for a block nor for money. */
  unpark(transaction: Transaction): void
  unfollow(transaction: Transaction): void
  isAwaitingFunds(transaction: Transaction): boolean
  /** The transactions that wait for their predecessor. */
  readonly following: ReadonlySet<Transaction>
  /** All of them. */
  readonly all: readonly Transaction[]
  /** The transactions that wait for money. Some may have failed since. */
  readonly forFunds: readonly Transaction[]
  /** See `Preparer`. */
  readonly unpaid: readonly Transaction[]
  readonly size: number
}

/** Whether it waits for money, and the nonce below which all had been assigned when it stepped aside. */
type Parked = { readonly isAwaitingFunds: boolean; readonly cursor: number }

function createParkedTransactions(
  { lane, endpointPool }: ParkedContext,
  stepAside: (transaction: Transaction, cause: WaitCause) => void,
): ParkedTransactions {
  const { book } = lane
  const parked = new Map<Transaction, Parked>()
  const following = new Set<Transaction>()

  return {
    park(transaction, cause) {
      stepAside(transaction, cause)
      parked.set(transaction, { isAwaitingFunds: cause.for === 'funds', cursor: book.cursor })
      endpointPool.tracker.wake()
    },
    follow(transaction) {
      stepAside(transaction, { for: 'order', behind: transaction.record.needs?.follows })
      following.add(transaction)
      endpointPool.tracker.wake()
    },
    unpark: (transaction) => void parked.delete(transaction),
    unfollow: (transaction) => void following.delete(transaction),
    isAwaitingFunds: (transaction) => parked.get(transaction)?.isAwaitingFunds === true,
    following,
    get all() {
      return [...parked.keys(), ...following]
    },
    get forFunds() {
      return [...parked].filter(([, { isAwaitingFunds }]) => isAwaitingFunds).map(([one]) => one)
    },
    get unpaid() {
      const isDue = ({ isAwaitingFunds, cursor }: Parked) => isAwaitingFunds && book.floor >= cursor
      return [...parked]
        .filter(([one, why]) => one.record.starved && isDue(why) && !hasFailed(one))
        .map(([one]) => one)
    },
    get size() {
      return parked.size + following.size
    },
  }
}
