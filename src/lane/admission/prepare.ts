import PQueue from 'p-queue'
import type { Lane } from '../../allocator/lane.js'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import { hasPrivateEndpoint } from '../../chain/endpoints/privateEndpoints.js'
import type { TxlaneError } from '../../errors/base.js'
import { quoteOf } from '../../errors/quote.js'
import type { Clock, Random } from '../../platform/clock.js'
import type { Repeats } from '../../platform/repeats.js'
import { reportError } from '../../platform/reportError.js'
import type { Limits } from '../../types/index.js'
import type { WaitCause } from '../../types/wait.js'
import { mostGas } from '../../validate/gasBounds.js'
import { checkGas } from '../../validate/validate.js'
import type { Estimate, GasEstimator } from '../gas/gas.js'
import type { SequenceGas } from '../gas/sequenceGas.js'
import { type FairOptions, type FairQueueClass, fairQueueClass } from '../queue/fairQueue.js'
import { hasFailed, type Transaction } from '../transaction/transaction.js'
import { txError } from '../transaction/txError.js'
import { ANSWERS_MAX, createAnswers } from './answers.js'
import type { MoveResult } from './poolRebalancer.js'
import { noPrivateWay, refused, unanswered } from './prepareErrors.js'
import type { Sequences } from './sequences.js'

type PrepareContext = {
  readonly lane: Lane
  readonly endpointPool: EndpointPool
  readonly clock: Clock
  readonly random: Random
  readonly limits: Limits
  readonly errors: Repeats<Error>
  readonly closed: boolean
}

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

export type PrepareOptions = {
  readonly context: PrepareContext
  readonly estimator: GasEstimator
  readonly simulate: boolean
  readonly gasMultiplier: number
  readonly weightOf: (group: string | undefined) => number
  /** Whether another transaction without a nonce goes before this one. */
  readonly isBehind: (transaction: Transaction) => boolean
  readonly conditions: (transaction: Transaction) => Promise<void> | undefined
  /** Records the baseline of the declared effect before the transaction can be sent. */
  readonly note: (transaction: Transaction) => Promise<void> | undefined
  readonly sequences: Pick<Sequences, 'enter' | 'before' | 'waits'>
  readonly sequenceGas: SequenceGas
  readonly ready: (transaction: Transaction) => void
  /** The transaction takes its place in the order of the calls, before it is ready. */
  readonly enter: (transaction: Transaction) => void
  /** The preparation has to be repeated, or waits for other transactions. Later calls may go on. */
  readonly stepAside: (transaction: Transaction, cause: WaitCause) => void
  /** Whether the transaction is known to cost more than the account has. */
  readonly isBeyond: (transaction: Transaction) => boolean
  readonly failed: (transaction: Transaction, error: TxlaneError) => void
  /** Tries to move the transaction to another lane, because this account cannot pay for it. */
  readonly tryMoveToFundedLane: (transaction: Transaction) => MoveResult
}

const RETRIES_MAX = 8
const RETRY_MS = 100
const RETRY_MS_MAX = 3_000
/** Between two estimates of transactions that the account cannot pay for. */
const SHORT_MS = 10_000

export function createPreparer(options: PrepareOptions): Preparer {
  const { context, estimator } = options
  const { endpointPool } = context
  let shortUntilMs = Number.NEGATIVE_INFINITY
  // Estimates to repeat, by the time at which they are due.
  const retries = new Map<number, (() => void)[]>()
  // Created with the first estimate, so that an idle lane costs nothing.
  let queue: PQueue<InstanceType<FairQueueClass>, FairOptions> | undefined
  const parked = new Map<Transaction, Parked>()
  // Transactions that are not estimated before their predecessor is visible: the answer would be about
  // another state.
  const following = new Set<Transaction>()
  // The head at which the conditions of a transaction were met. A replica may lag behind the state that met
  // them.
  const metAt = new WeakMap<Transaction, number>()
  // Estimates under way. Transactions that wait for conditions are not included: they may wait for one of
  // these.
  const asking = new Set<Transaction>()
  // By transaction: the transactions below this nonce may change its estimate. Recorded once no queued
  // transaction goes before it.
  const changedBelow = new WeakMap<Transaction, number>()
  const answers = createAnswers(context, (transaction) => context.closed || hasFailed(transaction))

  /** Returns undefined if no node has to be asked. */
  function run(transaction: Transaction): Promise<void> | undefined {
    if (hasFailed(transaction)) return undefined
    options.sequences.enter(transaction)
    const waiting = options.conditions(transaction)
    if (waiting !== undefined) {
      // Gives up its place in the queue of estimates, because its predecessor may be behind it.
      options.stepAside(transaction, { for: 'condition', after: afterOf(transaction) })
      void waiting.then(
        () => met(transaction),
        (error: TxlaneError) => options.failed(transaction, error),
      )
      return undefined
    }
    return prepare(transaction)
  }

  async function met(transaction: Transaction): Promise<void> {
    if (context.closed || hasFailed(transaction)) return
    if (endpointPool.reader.profile.current().pending === 'preconfirmed') metAt.set(transaction, headNumber())
    await prepare(transaction)
  }

  const headNumber = () => endpointPool.tracker.head?.number ?? 0

  function prepare(transaction: Transaction, tries = 0): Promise<void> | undefined {
    // The transaction came from a process with other endpoints.
    if (transaction.private && !hasPrivateEndpoint(context.endpointPool)) {
      options.failed(transaction, noPrivateWay(transaction))
      return undefined
    }
    const noted = options.note(transaction)
    if (asks(transaction)) return prepareAsking(transaction, tries, noted)
    if (noted !== undefined) return noted.then(() => prepared(transaction))
    prepared(transaction)
    return undefined
  }

  function prepared(transaction: Transaction): void {
    if (hasFailed(transaction)) return
    try {
      checkGas(transaction.request, endpointPool.chain, endpointPool.tracker.newest)
    } catch (error) {
      return options.failed(transaction, error as TxlaneError)
    }
    transaction.gas = transaction.request.gas
    options.ready(transaction)
  }

  async function prepareAsking(
    transaction: Transaction,
    tries: number,
    noted: Promise<void> | undefined,
  ): Promise<void> {
    asking.add(transaction)
    const estimate = await ask(transaction)
    await noted
    asking.delete(transaction)
    if (hasFailed(transaction) || context.closed) return
    if (estimate === undefined) return follow(transaction)
    take(transaction, estimate, tries)
  }

  /** A private transaction brings its gas, and a simulation would reveal it to the reader endpoint. */
  function asks({ request, private: isPrivate }: Transaction): boolean {
    return request.gas === undefined || (options.simulate && !isPrivate)
  }

  /** Undefined if the estimate is impossible until its predecessors in the sequence are visible. */
  async function ask(transaction: Transaction): Promise<Estimate | undefined> {
    const { request } = transaction
    const from = context.lane.key.address
    const before = options.sequences.before(transaction)
    if (before.length > 0) return options.sequenceGas(before, transaction)
    return request.gas === undefined ? estimator.estimate(request, from) : estimator.simulate(request, from)
  }

  function follow(transaction: Transaction): void {
    options.stepAside(transaction, { for: 'order', behind: transaction.needs?.follows })
    following.add(transaction)
    endpointPool.tracker.wake()
  }

  function take(transaction: Transaction, estimate: Estimate, tries: number): void {
    switch (estimate.kind) {
      case 'gas':
        transaction.gas = gasOf(transaction, estimate.gas)
        return options.ready(transaction)
      case 'reverted':
      case 'funds':
        // The transaction may depend on earlier ones; its effect is certain only after those.
        if (mayDepend(transaction) || waitsForMoney(transaction, estimate))
          return park(transaction, causeOf(estimate, 1))
        if (estimate.kind === 'funds' && waitsForRelief(transaction, estimate)) return
        return options.failed(transaction, reverted(transaction, estimate))
      case 'unknown':
        return takeUnknown(transaction, estimate, tries)
      default:
        return estimate satisfies never
    }
  }

  /** Gas set by the caller stays unchanged. An estimate is multiplied, but not beyond the gas of a block. */
  function gasOf({ request }: Transaction, estimate: bigint): bigint {
    if (request.gas !== undefined) return request.gas
    const gas = scaled(estimate, options.gasMultiplier)
    const most = mostGas(endpointPool.chain, endpointPool.tracker.newest)
    return most !== undefined && gas > most && estimate <= most ? most : gas
  }

  function takeUnknown(transaction: Transaction, estimate: Unknown, tries: number): void {
    switch (estimate.how) {
      case 'words':
        return repeated(transaction, estimate)
      case 'absurd':
        // An absurd answer never decides; only the pause between retries bounds its cost.
        return retry(transaction, Math.min(tries, RETRIES_MAX - 1), estimate)
      case 'silence':
        if (tries >= RETRIES_MAX) return options.failed(transaction, unanswered(transaction, estimate.cause))
        return retry(transaction, tries, estimate)
      default:
        return estimate.how satisfies never
    }
  }

  /**
   * The node answers with an unknown message. The same message three times, at different blocks, is final.
   */
  function repeated(transaction: Transaction, estimate: Unknown): void {
    const answer = answers.note(transaction, quoteOf(estimate.cause))
    if (answer.times < ANSWERS_MAX) {
      options.stepAside(transaction, causeOf(estimate, answer.times))
      return answers.again(transaction, () => void prepare(transaction))
    }
    if (mayDepend(transaction)) return park(transaction, causeOf(estimate, 1))
    const said = `${endpointPool.reader.port.name} said: ${quoteOf(estimate.cause)}`
    options.failed(transaction, refused(transaction, estimate.cause, said))
  }

  /** Whether an earlier transaction, in flight or queued, may change the answer. */
  function mayDepend(transaction: Transaction): boolean {
    if (mayLag(transaction)) return true
    const isBehind = options.isBehind(transaction) || [...asking].some((one) => goesBefore(one, transaction))
    if (isBehind) return true
    const { book } = context.lane
    const below = changedBelow.get(transaction) ?? book.cursor
    changedBelow.set(transaction, below)
    // The cursor falls when the highest nonce is given back.
    return book.coveredTo < Math.min(below, book.cursor)
  }

  /**
   * Whether its conditions were met by pre-confirmed state at most one block ago, which another replica may
   * not show yet.
   */
  function mayLag(transaction: Transaction): boolean {
    const met = metAt.get(transaction)
    return met !== undefined && headNumber() <= met + 1
  }

  function waitsForMoney({ starved }: Transaction, estimate: Estimate): boolean {
    return estimate.kind === 'funds' && starved === undefined
  }

  function waitsForRelief(transaction: Transaction, estimate: Unmet): boolean {
    const relieved = options.tryMoveToFundedLane(transaction)
    if (relieved === 'later') park(transaction, causeOf(estimate, 1))
    return relieved !== 'never'
  }

  function park(transaction: Transaction, cause: WaitCause): void {
    options.stepAside(transaction, cause)
    parked.set(transaction, { isAwaitingFunds: cause.for === 'funds', cursor: context.lane.book.cursor })
    endpointPool.tracker.wake()
  }

  function retry(transaction: Transaction, tries: number, estimate: Unknown): void {
    options.stepAside(transaction, causeOf(estimate, tries + 1))
    const { clock, limits, random } = context
    const usual = Math.min(RETRY_MS_MAX, RETRY_MS * 2 ** tries) * (1 + random() / 2)
    const afterMs = Math.max(usual, Math.min(estimate.retryAfterMs ?? 0, limits.restMsMax))
    // Retries that are due in the same tenth of a second share a timer, and so a request.
    const atMs = Math.ceil((clock.now() + afterMs) / RETRY_MS) * RETRY_MS
    const again = () => void prepare(transaction, tries + 1)
    const others = retries.get(atMs)
    if (others) return void others.push(again)
    const all = [again]
    retries.set(atMs, all)
    clock.setTimer(() => {
      retries.delete(atMs)
      if (!context.closed) for (const one of all) one()
    }, atMs - clock.now())
  }

  function again(transactions: readonly Transaction[]): void {
    for (const transaction of transactions) {
      if (hasFailed(transaction)) parked.delete(transaction)
      else if (parked.get(transaction)?.isAwaitingFunds && options.isBeyond(transaction)) short(transaction)
      else {
        parked.delete(transaction)
        following.delete(transaction)
        void prepare(transaction)
      }
    }
  }

  function short(transaction: Transaction): void {
    const { clock } = context
    if (transaction.request.gas !== undefined || clock.now() < shortUntilMs) return
    shortUntilMs = clock.now() + SHORT_MS
    void estimateAgain(transaction).catch((error: unknown) => reportError(context, error))
  }

  async function estimateAgain(transaction: Transaction): Promise<void> {
    const estimate = await ask(transaction)
    if (context.closed || hasFailed(transaction) || transaction.nonce !== undefined) return
    if (estimate?.kind === 'gas') transaction.gas = gasOf(transaction, estimate.gas)
  }

  return {
    add(transaction) {
      // A replacement has no place of its own in the order.
      const isPlaced = transaction.replaces === undefined
      if (isPlaced && (asks(transaction) || transaction.needs !== undefined)) options.enter(transaction)
      if (!asks(transaction)) return void run(transaction)
      const { priority, group } = transaction
      queue ??= new PQueue({
        concurrency: context.limits.prepareMax,
        queueClass: fairQueueClass(options.weightOf),
      })
      void queue.add(async () => run(transaction), { priority, group })
    },
    newHead() {
      again([...parked.keys(), ...following])
      answers.newHead()
    },
    setAside: park,
    moneyCame: () =>
      again([...parked].filter(([, { isAwaitingFunds: isForMoney }]) => isForMoney).map(([one]) => one)),
    ticked() {
      for (const transaction of following) {
        if (options.sequences.waits(transaction)) continue
        following.delete(transaction)
        if (!hasFailed(transaction)) void prepare(transaction)
      }
    },
    get size() {
      return parked.size + following.size + answers.size
    },
    get awaitingFunds() {
      return [...parked]
        .filter(([one, { isAwaitingFunds: isForMoney }]) => isForMoney && !hasFailed(one))
        .map(([one]) => one)
    },
    get unpaid() {
      const { floor } = context.lane.book
      const isDue = ({ isAwaitingFunds: isForMoney, cursor }: Parked) => isForMoney && floor >= cursor
      return [...parked]
        .filter(([one, why]) => one.starved && isDue(why) && !hasFailed(one))
        .map(([one]) => one)
    },
    short,
    drop(transaction) {
      parked.delete(transaction)
      answers.forget(transaction)
    },
  }

  function causeOf({ kind, cause }: Unmet, tries: number): WaitCause {
    const said = quoteOf(cause)
    if (kind === 'funds') return { for: 'funds', said }
    return { for: 'estimate', endpoint: endpointPool.reader.port.name, tries, said }
  }

  function reverted(transaction: Transaction, estimate: Extract<Estimate, { cause: Error }>): TxlaneError {
    if (estimate.kind === 'funds') {
      return txError(transaction, 'STARVED', 'notExecuted', 'The account cannot pay for it.', estimate.cause)
    }
    const message = 'The transaction reverts when it is run before it is sent.'
    return txError(transaction, 'PREPARE_REVERTED', 'notExecuted', message, estimate.cause)
  }
}

/** Whether it waits for money, and the nonce below which all had been assigned when it stepped aside. */
type Parked = { readonly isAwaitingFunds: boolean; readonly cursor: number }

/** An estimate that gave no gas. */
type Unmet = Extract<Estimate, { cause: Error }>
type Unknown = Extract<Estimate, { kind: 'unknown' }>

function afterOf({ needs }: Transaction): readonly string[] {
  return (needs?.after ?? []).map((one) => (typeof one === 'string' ? one : one.id))
}

function goesBefore(one: Transaction, other: Transaction): boolean {
  if (one.priority !== other.priority) return one.priority > other.priority
  return one.group === other.group && one.sequence < other.sequence
}

function scaled(gas: bigint, multiplier: number): bigint {
  if (multiplier === 1) return gas
  return (gas * BigInt(Math.ceil(multiplier * 1_000)) + 999n) / 1_000n
}
