import { isUsed } from '../../ledger/slot.js'
import { createAuthorizationBarrier } from '../admission/authorizationBarrier.js'
import { createDependencies } from '../admission/dependencies.js'
import { createBroadcaster } from '../broadcast/broadcast.js'
import { createCodeWatch } from '../confirmation/codeWatch.js'
import { createFinalityIndex } from '../confirmation/finality.js'
import { createRepair } from '../confirmation/repair.js'
import { createStages } from '../confirmation/stages.js'
import { createNonceRegression } from '../confirmation/nonceRegression.js'
import { createNonceUsage } from '../confirmation/nonceUsage.js'
import { createSeeding } from '../confirmation/seeding.js'
import { createGroupBounds } from '../queue/groupBounds.js'
import { createOrder } from '../queue/order.js'
import { createFeeBudget } from '../signing/feeBudget.js'
import { type AwaitingFunds, createFunds } from '../signing/funds.js'
import { createSigning } from '../signing/signing.js'
import type { Transaction } from '../transaction/transaction.js'
import type { Core } from './core.js'
import type { EngineOptions } from './engineTypes.js'

/** Queries about transactions without a nonce. The parts that answer them are constructed later. */
export type Unassigned = {
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
  const finalityIndex = createFinalityIndex((transaction) => stages.finalized(transaction))
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
