import { createAwaitingFunds } from '../admission/awaitingFunds.js'
import { createIntake } from '../admission/intake.js'
import { createPoolRebalancer } from '../admission/poolRebalancer.js'
import { createPreparer } from '../admission/prepare.js'
import { createRequeue } from '../admission/requeue.js'
import { attemptCostBound } from '../signing/cost.js'
import { createNonceAssigner } from '../signing/nonceAssigner.js'
import type { Transaction } from '../transaction/transaction.js'
import type { Core } from './core.js'
import type { EngineOptions } from './engineTypes.js'
import { createExternalNonces } from './externalNonces.js'
import type { Sending, Unassigned } from './sending.js'

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
    kept: stored,
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
