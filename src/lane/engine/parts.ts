import { isUsed } from '../../ledger/slot.js'
import { createAuthorizationBarrier } from '../admission/authorizationBarrier.js'
import { createAwaitingFunds } from '../admission/awaitingFunds.js'
import { createDependencies } from '../admission/dependencies.js'
import { createIntake } from '../admission/intake.js'
import { createPoolRebalancer } from '../admission/poolRebalancer.js'
import { createPreparer } from '../admission/prepare.js'
import { createBroadcaster } from '../broadcast/broadcast.js'
import { createCodeWatch } from '../confirmation/codeWatch.js'
import { createFinalityIndex } from '../confirmation/finalityIndex.js'
import { createFollower } from '../confirmation/follow.js'
import { createNonceRegression } from '../confirmation/nonceRegression.js'
import { createNonceUsage } from '../confirmation/nonceUsage.js'
import { createRepair } from '../confirmation/repair.js'
import { createSeeding } from '../confirmation/seeding.js'
import { createStages } from '../confirmation/stages.js'
import { createStoredFinality } from '../confirmation/storedFinality.js'
import { createGroupBounds } from '../queue/groups.js'
import { createOrder, createRequeue } from '../queue/order.js'
import { attemptCostBound } from '../signing/cost.js'
import { createFeeBudget } from '../signing/feeBudget.js'
import { type AwaitingFunds, createFunds } from '../signing/funds.js'
import { createNonceAssigner } from '../signing/nonceAssigner.js'
import { createSigning } from '../signing/signing.js'
import type { Transaction } from '../transaction/transaction.js'
import type { Core } from './core.js'
import type { EngineOptions } from './engineTypes.js'
import { createExternalNonces } from './externalNonces.js'

/** Queries about transactions without a nonce. The parts that answer them are constructed later. */
type Unassigned = {
  readonly awaitingFunds: AwaitingFunds
  queuedOf(group: string): number
  waits(transaction: Transaction): boolean
}

export type Sending = ReturnType<typeof createSending>

/** The parts that turn a nonce into bytes on the wire, and follow them until they are final. */
export function createSending(core: Core, options: EngineOptions, unassigned: () => Unassigned) {
  const { context, lane, queue, signals, estimator } = core
  const { session, environment, groups } = options
  const funds = createFunds(context, queue, () => unassigned().awaitingFunds)
  const bounds = createGroupBounds(context, {
    policy: groups,
    queue,
    queued: (group) => unassigned().queuedOf(group),
    lanes: () => session.rebalancing?.lanes() ?? [bounds],
  })
  const budget = createFeeBudget(context, queue, options.spentBefore)
  const order = createOrder(context, queue)
  const dependencies = createDependencies(context, {
    order,
    waits: (transaction) => unassigned().waits(transaction),
    failed: signals.failed,
    freed: signals.freed,
  })
  const { sequences } = dependencies
  const barrier = createAuthorizationBarrier(context)
  const finalityIndex = createFinalityIndex({
    safe: (transaction) => stages.safe(transaction),
    done: (transaction) => stages.finalized(transaction),
    doneInStore: createStoredFinality(context, (transaction) => stages.finalized(transaction)),
    forget: signals.forgotten,
    recall: (transaction) => void context.transactions.set(transaction.id, transaction),
  })
  const stages = createStages(context, finalityIndex, signals.forgotten)
  const signing = createSigning(context, {
    estimator,
    freed: signals.freed,
    waiting: queue.peek,
    waitForPredecessor: sequences.waitForPredecessor,
    markJournaled: sequences.markJournaled,
  })
  const code = createCodeWatch(context, signals.accountLimited, signing.codeChanged)
  // Nonces that were used in blocks which the walk has not seen: it cannot notice when these blocks leave.
  const unverifiedNonces = new Set([...lane.book.slots.values()].filter(isUsed).map(({ nonce }) => nonce))
  const usage = createNonceUsage(context, unverifiedNonces, barrier.carrierBlock)
  const broadcaster = createBroadcaster(context, {
    funds,
    signing,
    delegated: code.readAgain,
    transactionOf: stages.transactionOf,
    latestCount: () => usage.latest,
    waiting: () => queue.size,
    seen: environment.probe?.outcome,
    sent: signals.sent,
    freed: signals.freed,
  })
  const canReserve = (first: Transaction) => barrier.canReserve(first) && sequences.canReserve(first)
  const canReserveNext = (first = queue.peek()) => first !== undefined && canReserve(first)
  const seeding = createSeeding(context, options.seed, signals)
  const repair = createRepair({
    context,
    signing,
    broadcaster,
    covers: seeding.covers,
    waits: () => queue.peek() !== undefined,
    fillable: () => !lane.holds.any && canReserveNext(),
    usedBelow: () => usage.latest,
    keeps: barrier.isReservedForTuple,
  })
  const regression = createNonceRegression(context)
  return {
    funds,
    bounds,
    budget,
    order,
    dependencies,
    sequences,
    barrier,
    finalityIndex,
    stages,
    signing,
    code,
    unverifiedNonces,
    usage,
    broadcaster,
    seeding,
    repair,
    regression,
    canReserve,
  }
}

export type Admitting = ReturnType<typeof createAdmitting>

/** The parts that take a transaction from the call of `send` to its nonce. */
export function createAdmitting(
  core: Core,
  options: EngineOptions,
  sending: Sending,
  /** This process stored the transaction with this sequence number itself. */
  stored: (sequence: number) => void,
) {
  const { context, queue, signals, estimator, weightOf, broken } = core
  const { funds, order, sequences, dependencies, barrier } = sending
  const rebalancer = createPoolRebalancer({
    context,
    queue,
    awaitingFunds: () => preparer.awaitingFunds,
    handOff: signals.handedOff,
  })
  const { tryMoveToFundedLane } = rebalancer
  const preparer = createPreparer({
    context,
    estimator,
    simulate: options.simulate,
    gasMultiplier: options.gasMultiplier,
    weightOf,
    isBehind: queue.isBehind,
    enter: order.enter,
    stepAside: order.stepAside,
    isBeyond: (transaction) => funds.isBeyond(attemptCostBound(context, transaction)),
    ...dependencies,
    ready(transaction) {
      transaction.ready = true
      if (transaction.replaces) intake.place(transaction)
      else enqueue(transaction)
    },
    failed: signals.failed,
    tryMoveToFundedLane,
  })
  const nonceAssigner = createNonceAssigner({
    context,
    queue,
    signing: sending.signing,
    funds,
    budget: sending.budget,
    admits: sending.canReserve,
    hasRoom: () => sending.broadcaster.hasRoom,
    bounds: sending.bounds,
    due: (transaction) => intake.due(transaction),
    setAside: (transaction, neededWei) =>
      preparer.setAside(transaction, { for: 'funds', neededWei, balanceWei: funds.balanceWei }),
    failed: signals.failed,
    broken,
    explained: () => sending.usage.idle(),
  })
  const intake = createIntake({
    context,
    queue,
    preparer,
    nonceAssigner,
    groups: options.groups,
    isTop: barrier.isHighest,
    taken: order.taken,
    persisted: stored,
    receiptAwaited: sending.broadcaster.receiptAwaited,
    ended: sequences.ended,
  })
  const awaitingFunds = createAwaitingFunds({
    context,
    queue,
    preparer,
    nonceAssigner,
    tryMoveToFundedLane,
    failed: signals.failed,
  })
  const externalNonces = createExternalNonces({
    context,
    nextSequence: options.admission.nextSequence,
    freed: signals.freed,
  })
  const requeue = createRequeue(context, order, enqueue)
  const unassigned: Unassigned = { awaitingFunds, queuedOf: intake.queuedOf, waits: intake.waits }

  /** A transaction of an earlier process life was not prepared in this one. */
  function enqueue(transaction: Transaction): void {
    if (!transaction.ready) return preparer.add(transaction)
    if (!sequences.mayGo(transaction)) return
    order.ready(transaction)
    nonceAssigner.run()
  }

  return { rebalancer, preparer, nonceAssigner, intake, externalNonces, requeue, unassigned }
}

/** The follower of the chain. It turns blocks and counts into events of slots. */
export function createFollowing(
  core: Core,
  options: EngineOptions,
  sending: Sending,
  { preparer }: Pick<Admitting, 'preparer'>,
  /** A tick was not answered. */
  unreachable: () => void,
) {
  const { context, queue, signals, broken } = core
  return createFollower({
    context,
    funds: sending.funds,
    budget: sending.budget,
    seeding: sending.seeding,
    usage: sending.usage,
    regression: sending.regression,
    barrier: sending.barrier,
    unverifiedNonces: sending.unverifiedNonces,
    finalityIndex: sending.finalityIndex,
    broadcaster: sending.broadcaster,
    leased: options.leased,
    waiting: () => queue.size + preparer.size,
    broken,
    ticked: signals.ticked,
    unreachable,
  })
}
