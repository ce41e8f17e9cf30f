import { liftedByResume } from '../../allocator/holds.js'
import { createLane } from '../../allocator/lane.js'
import { awaitsCommit, isUsed, type Slot } from '../../ledger/slot.js'
import { stoppableClock } from '../../platform/clock.js'
import { reportError } from '../../platform/reportError.js'
import { createStopSignal, raceStop } from '../../platform/stopSignal.js'
import { createAuthorizationBarrier } from '../admission/authorizationBarrier.js'
import { createAwaitingFunds } from '../admission/awaitingFunds.js'
import { createDependencies } from '../admission/dependencies.js'
import { createInbox, type Inbox } from '../admission/inbox.js'
import { createIntake } from '../admission/intake.js'
import { createPoolRebalancer } from '../admission/poolRebalancer.js'
import { createPreparer } from '../admission/prepare.js'
import { createRequeue } from '../admission/requeue.js'
import { createBytesSender } from '../broadcast/bytesSender.js'
import { createCodeWatch } from '../confirmation/codeWatch.js'
import { createFinalityIndex } from '../confirmation/finalityIndex.js'
import { createFollower } from '../confirmation/follow.js'
import { createNonceRegression } from '../confirmation/nonceRegression.js'
import { createNonceUsage } from '../confirmation/nonceUsage.js'
import { createRepair } from '../confirmation/repair.js'
import { createSeeding } from '../confirmation/seeding.js'
import { createStages } from '../confirmation/stages.js'
import { createGroupBounds } from '../queue/groupBounds.js'
import { shareOf } from '../queue/groups.js'
import { createOrder } from '../queue/order.js'
import { createPendingQueue } from '../queue/pendingQueue.js'
import { closedLaneError } from '../session/closedLaneError.js'
import { attemptCostBound } from '../signing/cost.js'
import { createFeeBudget } from '../signing/feeBudget.js'
import { createFunds } from '../signing/funds.js'
import { createNonceAssigner } from '../signing/nonceAssigner.js'
import { createSigning } from '../signing/signing.js'
import type { Transaction } from '../transaction/transaction.js'
import { reportUnresolved } from '../transaction/unresolved.js'
import { createContext } from './createContext.js'
import { createDrainWaiters, isAllDone } from './drainWaiters.js'
import type { Engine, EngineOptions } from './engineTypes.js'
import { createExternalNonces } from './externalNonces.js'
import { createFreshness } from './freshness.js'
import { createRemoteCommands } from './remoteCommands.js'
import { createActionRunner } from './runActions.js'
import { reportHold, watchSurroundings } from './surroundings.js'
import { createLeaderOperations } from './txOperations.js'
import { createWaitReasons } from './waitReasons.js'

export function createEngine(options: EngineOptions): Engine {
  const { environment, session, endpointPool, groups } = options
  const { clock, estimator } = options.ahead
  const background = stoppableClock(environment.background ?? environment.clock)
  const weightOf = (group: string | undefined) => shareOf(groups, group).weight
  const queue = createPendingQueue<Transaction>(weightOf)
  const closing = createStopSignal(closedLaneError)

  const lane = createLane({
    ...options,
    clock,
    duties: {
      perform: (nonce, actions) => perform(nonce, actions),
      moved: (nonce, before, after) => moved(nonce, before, after),
      held(...change) {
        reportHold(context, ...change)
        if (!change[1]) nonceAssigner.run()
      },
      changedTransactions: () => stages.takeChanged(),
      commandsDoneUpTo: () => arrivals?.commandsDoneUpTo ?? 0,
      failed: broken,
      covered: () => nonceAssigner.run(),
      lost: options.lost,
      took: environment.probe?.row,
    },
  })

  const context = createContext(options, { lane, closing })

  const funds = createFunds(context, queue, () => awaitingFunds)
  const bounds = createGroupBounds(context, {
    policy: groups,
    queue,
    queued: (group) => intake.queuedOf(group),
    lanes: () => session.rebalancing?.lanes() ?? [bounds],
  })
  const budget = createFeeBudget(context, queue, options.spentBefore)
  const finalityIndex = createFinalityIndex((transaction) => stages.finalized(transaction))
  const stages = createStages(context, finalityIndex, (transaction) => intake.forget(transaction))
  const signing = createSigning(context, {
    estimator,
    freed: () => nonceAssigner.run(),
    waiting: queue.peek,
    waitForPredecessor: (transaction) => sequences.waitForPredecessor(transaction),
    markJournaled: (transaction) => sequences.markJournaled(transaction),
  })
  const barrier = createAuthorizationBarrier(context)
  const code = createCodeWatch(context, () => broadcaster, signing.codeChanged)
  const admits = (first: Transaction) => barrier.canReserve(first) && sequences.canReserve(first)
  const admitsNext = (first = queue.peek()) => first !== undefined && admits(first)
  const begin = { freed: () => nonceAssigner.run(), gaps: () => repair.watchGaps() }
  const seeding = createSeeding(context, options.seed, begin)
  const repair = createRepair({
    context,
    signing,
    broadcaster: () => broadcaster,
    covers: seeding.covers,
    waits: () => queue.peek() !== undefined,
    fillable: () => !lane.holds.any && admitsNext(),
    usedBelow: () => usage.latest,
    keeps: barrier.isReservedForTuple,
  })
  const broadcaster = createBytesSender(context, {
    funds,
    signing,
    delegated: code.look,
    transactionOf: stages.transactionOf,
    latestCount: () => usage.latest,
    seen: environment.probe?.outcome,
    sent: repair.sent,
    freed: () => nonceAssigner.run(),
  })
  // Used by blocks that the walk has not seen, so that it could not say when they leave.
  const unwalked = new Set([...lane.book.slots.values()].filter(isUsed).map(({ nonce }) => nonce))
  const usage = createNonceUsage(context, unwalked, barrier.carrierBlock)
  const regression = createNonceRegression(context)
  const nonceAssigner = createNonceAssigner({
    context,
    queue,
    signing,
    funds,
    budget,
    admits,
    hasRoom: () => broadcaster.hasRoom,
    bounds,
    due: (transaction) => intake.due(transaction),
    setAside: (transaction, neededWei) =>
      preparer.setAside(transaction, { for: 'funds', neededWei, balanceWei: funds.balanceWei }),
    failed: (transaction, error) => intake.failed(transaction, error),
    broken,
    fresh: createFreshness(context, () => usage.idle()),
  })
  const order = createOrder(context, queue)
  const requeue = createRequeue(context, order, enqueue)
  const dependence = createDependencies(context, { order, intake: () => intake, pump: () => nonceAssigner })
  const { sequences } = dependence
  const rebalancer = createPoolRebalancer({ context, queue, preparer: () => preparer, intake: () => intake })
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
    ...dependence,
    ready(transaction) {
      transaction.ready = true
      if (transaction.replaces) intake.place(transaction)
      else enqueue(transaction)
    },
    failed: (transaction, error) => intake.failed(transaction, error),
    tryMoveToFundedLane: rebalancer.tryMoveToFundedLane,
  })
  const intake = createIntake({
    context,
    queue,
    preparer,
    nonceAssigner,
    groups,
    isTop: barrier.isHighest,
    taken: order.taken,
    kept: (sequence) => arrivals?.own(sequence),
    ended: sequences.ended,
  })
  const { failed } = intake
  const awaitingFunds = createAwaitingFunds({
    context,
    queue,
    preparer,
    nonceAssigner,
    tryMoveToFundedLane: rebalancer.tryMoveToFundedLane,
    failed,
  })
  const externalNonces = createExternalNonces({
    context,
    nextSequence: options.admission.nextSequence,
    freed: () => nonceAssigner.run(),
  })
  const reasons = createWaitReasons(context, { order, queue, funds, bounds, broadcaster })
  const operations = createLeaderOperations({ context, intake, waitingFor: reasons.of })
  const commands = createRemoteCommands(context, operations)
  const perform = createActionRunner({
    context,
    sign: signing.claim,
    noop: signing.noop,
    bump: signing.bump,
    broadcast: broadcaster.add,
    later: broadcaster.later,
    look: usage.look,
    queueAgain(transaction) {
      stages.again(transaction)
      intake.again(transaction)
      sequences.unbound(transaction.id)
      requeue(transaction)
    },
    reclaim: (transaction, nonce) => intake.reclaim(transaction, nonce),
    transactionOf: stages.transactionOf,
    forget: (transaction) => intake.forget(transaction),
  })
  const follower = createFollower({
    context,
    funds,
    budget,
    seeding,
    usage,
    regression,
    barrier,
    unwalked,
    finalityIndex,
    delivered: broadcaster,
    leased: options.leased,
    waiting: () => queue.size + preparer.size,
    transactionOf: stages.transactionOf,
    broken,
    ticked(newHead) {
      bounds.look()
      // Before those that wait for money are asked about once more.
      rebalancer.look()
      budget.look()
      if (newHead) {
        broadcaster.kick()
        preparer.newHead()
      }
      preparer.ticked()
      code.ticked(newHead)
      repair.ticked()
      repair.watchGaps()
      nonceAssigner.run()
      drains.check()
      reasons.look()
    },
    unreachable: reasons.look,
  })
  function moved(nonce: number, before: Slot | undefined, after: Slot): void {
    funds.moved(nonce, before, after)
    bounds.moved(nonce, before, after)
    budget.moved(nonce, before, after)
    stages.moved(nonce, before, after)
    code.moved(before, after)
    if (after.state === 'hole' && before?.state !== 'hole') {
      broadcaster.withdraw(nonce)
      repair.watchGaps()
    }
    if (after.state === 'reserved') intake.bound(after.claim)
    sequences.moved(before, after)
    // The first that is open again: nobody may wait for it, and still it has to be followed.
    const opened = after.state === 'reserved' || after.state === 'outside'
    if (opened && after.state !== before?.state && nonce === lane.book.coveredTo) endpointPool.tracker.sent()
    if (awaitsCommit(before)) broadcaster.kick()
    barrier.moved(nonce, after)
  }

  const isDrained = () => isAllDone(context, intake.open + signing.open)
  const drains = createDrainWaiters(isDrained)
  let unfollow: (() => void) | undefined
  let arrivals: Inbox | undefined
  const offSurroundings = watchSurroundings(context, { broadcaster, budget, nonceAssigner, repair })

  /** In line for a nonce. One that comes from an earlier life was never prepared in this one. */
  function enqueue(transaction: Transaction): void {
    if (!transaction.ready) return preparer.add(transaction)
    if (!sequences.mayGo(transaction)) return
    order.ready(transaction)
    nonceAssigner.run()
  }

  function broken(error: unknown): void {
    reportError(context, error)
  }

  return {
    context,
    intake,
    signing,
    externalNonces,
    broadcaster,
    reasons,
    restore({ open, final }) {
      stages.follow(follower)
      for (const transaction of [...open, ...final]) intake.restore(transaction)
      for (const slot of lane.book.slots.values()) moved(slot.nonce, undefined, slot)
      for (const transaction of open) intake.resume(transaction)
      for (const transaction of final) stages.finalized(transaction)
      // It was found out in another process: who listens here has yet to hear that an operator's word is needed.
      for (const transaction of open) if (transaction.unresolved) reportUnresolved(session, transaction)
    },
    settled: seeding.settled,
    start() {
      session.operations = operations
      session.receipt = budget.receipt
      session.left = (transaction) => {
        intake.left(transaction)
        drains.check()
      }
      unfollow = endpointPool.tracker.follow(follower)
      broadcaster.resume()
      externalNonces.start()
      arrivals = createInbox(context, {
        after: options.arrived,
        asking: intake.asking,
        take: intake.arrived,
        command: commands.fulfil,
        failed: broken,
        background,
      })
      // One that has nothing to follow is asked nothing.
      if (follower.pace() !== 'idle') endpointPool.tracker.wake()
      nonceAssigner.run()
    },
    kick() {
      nonceAssigner.run()
      endpointPool.tracker.wake()
    },
    resume() {
      if (lane.holds.has('jump')) usage.acceptJump()
      regression.accept()
      seeding.accept()
      budget.accept()
      for (const reason of liftedByResume) lane.holds.lift(reason)
    },
    observe(blockNumber, hashes) {
      endpointPool.tracker.observe(
        blockNumber > 0 ? blockNumber : (endpointPool.tracker.head?.number ?? 0) + 1,
        hashes,
      )
    },
    resolve: commands.resolve,
    accountIs: code.is,
    get account() {
      return code.account
    },
    async quiet() {
      await signing.idle()
      await lane.journal.flushed()
      await broadcaster.idle()
    },
    get waiting() {
      return intake.open
    },
    counts: bounds,
    async drained() {
      // Somebody waits: the poller looks at every refresh, not once a block.
      await session.whileWaiting(() => raceStop(drains.add(), [closing]))
    },
    get idle() {
      const slots = [...lane.book.slots.values()]
      const settled = !seeding.isOpen && slots.every((slot) => slot.state === 'used' && slot.settled)
      // Without a signer there is nothing to be done for what waits.
      return settled && session.waits === 0 && (isDrained() || context.signer === undefined)
    },
    get following() {
      return follower.pace() !== 'idle'
    },
    get balanceWei() {
      return funds.balanceWei
    },
    get feeBudget() {
      return budget.windows
    },
    get owedWei() {
      return funds.owedWei
    },
    get spareWei() {
      return funds.spareWei
    },
    weigh: funds.weigh,
    setBalance: funds.balance,
    stop,
  }

  function stop(): void {
    closing.stop()
    unfollow?.()
    arrivals?.stop()
    offSurroundings()
    stages.unfollow()
    broadcaster.stop()
    seeding.stop()
    repair.stop()
    externalNonces.stop()
    lane.stop()
    clock.stop()
    background.stop()
  }
}
