import { liftedByResume } from '../../allocator/holds.js'
import { createLane } from '../../allocator/lane.js'
import { awaitsCommit, isUsed, type Slot } from '../../ledger/slot.js'
import { stoppableClock } from '../../platform/clock.js'
import { reportError } from '../../platform/reportError.js'
import { createStop, unlessStopped } from '../../platform/stopSignal.js'
import { createBarrier } from '../admission/authorizationBarrier.js'
import { createForMoney } from '../admission/awaitingFunds.js'
import { createDependence } from '../admission/dependencies.js'
import { type Arrivals, createArrivals } from '../admission/inbox.js'
import { createIntake } from '../admission/intake.js'
import { createRelief } from '../admission/poolRebalancer.js'
import { createPreparer } from '../admission/prepare.js'
import { createRequeue } from '../admission/requeue.js'
import { createBytesSender } from '../broadcast/bytesSender.js'
import { createCodeWatch } from '../confirmation/codeWatch.js'
import { createLandedIndex } from '../confirmation/finalityIndex.js'
import { createFollower } from '../confirmation/follow.js'
import { createNonceRegression } from '../confirmation/nonceRegression.js'
import { createNonceUsage } from '../confirmation/nonceUsage.js'
import { createRepair } from '../confirmation/repair.js'
import { createSeeding } from '../confirmation/seeding.js'
import { createStages } from '../confirmation/stages.js'
import { createGroupBounds } from '../queue/groupBounds.js'
import { shareOf } from '../queue/groups.js'
import { createOrder } from '../queue/order.js'
import { createLine } from '../queue/pendingQueue.js'
import { closedLaneError } from '../session/closedLaneError.js'
import { attemptCostBound } from '../signing/cost.js'
import { createFeeBudget } from '../signing/feeBudget.js'
import { createFunds } from '../signing/funds.js'
import { createPump } from '../signing/nonceAssigner.js'
import { createSigning } from '../signing/signing.js'
import type { Transaction } from '../transaction/transaction.js'
import { tellUnresolved } from '../transaction/unresolved.js'
import { createContext } from './createContext.js'
import { createDrains, isAllDone } from './drainWaiters.js'
import type { Engine, EngineOptions } from './engineTypes.js'
import { createReservations } from './externalNonces.js'
import { createFreshness } from './freshness.js'
import { createWishes } from './remoteCommands.js'
import { createPerformer } from './runActions.js'
import { tellHold, watchSurroundings } from './surroundings.js'
import { createHolderOperations } from './txOperations.js'
import { createWaitReasons } from './waitReasons.js'

export function createEngine(options: EngineOptions): Engine {
  const { environment, handle, hub, groups } = options
  const { clock, estimator } = options.ahead
  const background = stoppableClock(environment.background ?? environment.clock)
  const weightOf = (group: string | undefined) => shareOf(groups, group).weight
  const line = createLine<Transaction>(weightOf)
  const closing = createStop(closedLaneError)

  const lane = createLane({
    ...options,
    clock,
    duties: {
      perform: (nonce, actions) => perform(nonce, actions),
      moved: (nonce, before, after) => moved(nonce, before, after),
      held(...change) {
        tellHold(context, ...change)
        if (!change[1]) pump.run()
      },
      changedTransactions: () => stages.takeChanged(),
      wished: () => arrivals?.wished ?? 0,
      failed: broken,
      covered: () => pump.run(),
      lost: options.lost,
      took: environment.probe?.row,
    },
  })

  const context = createContext(options, { lane, closing })

  const funds = createFunds(context, line, () => forMoney)
  const bounds = createGroupBounds(context, {
    policy: groups,
    line,
    queued: (group) => intake.queuedOf(group),
    lanes: () => handle.relief?.lanes() ?? [bounds],
  })
  const budget = createFeeBudget(context, line, options.spentBefore)
  const landed = createLandedIndex((transaction) => stages.finalized(transaction))
  const stages = createStages(context, landed, (transaction) => intake.forget(transaction))
  const signing = createSigning(context, {
    estimator,
    freed: () => pump.run(),
    waiting: line.peek,
    turn: (transaction) => sequences.turn(transaction),
    handed: (transaction) => sequences.handed(transaction),
  })
  const barrier = createBarrier(context)
  const code = createCodeWatch(context, () => broadcaster, signing.codeChanged)
  const admits = (first: Transaction) => barrier.admits(first) && sequences.admits(first)
  const admitsNext = (first = line.peek()) => first !== undefined && admits(first)
  const begin = { freed: () => pump.run(), gaps: () => repair.watchGaps() }
  const seeding = createSeeding(context, options.seed, begin)
  const repair = createRepair({
    context,
    signing,
    broadcaster: () => broadcaster,
    covers: seeding.covers,
    waits: () => line.peek() !== undefined,
    fillable: () => !lane.holds.any && admitsNext(),
    usedBelow: () => usage.latest,
    keeps: barrier.keeps,
  })
  const broadcaster = createBytesSender(context, {
    funds,
    signing,
    delegated: code.look,
    transactionOf: stages.transactionOf,
    latestCount: () => usage.latest,
    seen: environment.probe?.outcome,
    sent: repair.sent,
    freed: () => pump.run(),
  })
  // Used by blocks that the walk has not seen, so that it could not say when they leave.
  const unwalked = new Set([...lane.book.slots.values()].filter(isUsed).map(({ nonce }) => nonce))
  const usage = createNonceUsage(context, unwalked, barrier.carriedIn)
  const regression = createNonceRegression(context)
  const pump = createPump({
    context,
    line,
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
  const order = createOrder(context, line)
  const requeue = createRequeue(context, order, enqueue)
  const dependence = createDependence(context, { order, intake: () => intake, pump: () => pump })
  const { sequences } = dependence
  const relief = createRelief({ context, line, preparer: () => preparer, intake: () => intake })
  const preparer = createPreparer({
    context,
    estimator,
    simulate: options.simulate,
    gasMultiplier: options.gasMultiplier,
    weightOf,
    isBehind: line.isBehind,
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
    relieved: relief.take,
  })
  const intake = createIntake({
    context,
    line,
    preparer,
    pump,
    groups,
    isTop: barrier.isTop,
    taken: order.taken,
    kept: (sequence) => arrivals?.own(sequence),
    ended: sequences.ended,
  })
  const { failed } = intake
  const forMoney = createForMoney({ context, line, preparer, pump, relieved: relief.take, failed })
  const reservations = createReservations({
    context,
    nextSequence: options.admission.nextSequence,
    freed: () => pump.run(),
  })
  const reasons = createWaitReasons(context, { order, line, funds, bounds, broadcaster })
  const operations = createHolderOperations({ context, intake, waitingFor: reasons.of })
  const wishes = createWishes(context, operations)
  const perform = createPerformer({
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
    landed,
    delivered: broadcaster,
    leased: options.leased,
    waiting: () => line.size + preparer.size,
    transactionOf: stages.transactionOf,
    broken,
    ticked(newHead) {
      bounds.look()
      // Before those that wait for money are asked about once more.
      relief.look()
      budget.look()
      if (newHead) {
        broadcaster.kick()
        preparer.newHead()
      }
      preparer.ticked()
      code.ticked(newHead)
      repair.ticked()
      repair.watchGaps()
      pump.run()
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
    if (opened && after.state !== before?.state && nonce === lane.book.coveredTo) hub.tracker.sent()
    if (awaitsCommit(before)) broadcaster.kick()
    barrier.moved(nonce, after)
  }

  const isDrained = () => isAllDone(context, intake.open + signing.open)
  const drains = createDrains(isDrained)
  let unfollow: (() => void) | undefined
  let arrivals: Arrivals | undefined
  const offSurroundings = watchSurroundings(context, { broadcaster, budget, pump, repair })

  /** In line for a nonce. One that comes from an earlier life was never prepared in this one. */
  function enqueue(transaction: Transaction): void {
    if (!transaction.ready) return preparer.add(transaction)
    if (!sequences.mayGo(transaction)) return
    order.ready(transaction)
    pump.run()
  }

  function broken(error: unknown): void {
    reportError(context, error)
  }

  return {
    context,
    intake,
    signing,
    reservations,
    broadcaster,
    reasons,
    restore({ open, final }) {
      stages.follow(follower)
      for (const transaction of [...open, ...final]) intake.restore(transaction)
      for (const slot of lane.book.slots.values()) moved(slot.nonce, undefined, slot)
      for (const transaction of open) intake.resume(transaction)
      for (const transaction of final) stages.finalized(transaction)
      // It was found out in another process: who listens here has yet to hear that an operator's word is needed.
      for (const transaction of open) if (transaction.unresolved) tellUnresolved(handle, transaction)
    },
    settled: seeding.settled,
    start() {
      handle.operations = operations
      handle.receipt = budget.receipt
      handle.left = (transaction) => {
        intake.left(transaction)
        drains.check()
      }
      unfollow = hub.tracker.follow(follower)
      broadcaster.resume()
      reservations.start()
      arrivals = createArrivals(context, {
        after: options.arrived,
        asking: intake.asking,
        take: intake.arrived,
        wish: wishes.fulfil,
        failed: broken,
        background,
      })
      // One that has nothing to follow is asked nothing.
      if (follower.pace() !== 'idle') hub.tracker.wake()
      pump.run()
    },
    kick() {
      pump.run()
      hub.tracker.wake()
    },
    resume() {
      if (lane.holds.has('jump')) usage.acceptJump()
      regression.accept()
      seeding.accept()
      budget.accept()
      for (const reason of liftedByResume) lane.holds.lift(reason)
    },
    observe(blockNumber, hashes) {
      hub.tracker.observe(blockNumber > 0 ? blockNumber : (hub.tracker.head?.number ?? 0) + 1, hashes)
    },
    resolve: wishes.resolve,
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
      await handle.counted(() => unlessStopped(drains.add(), [closing]))
    },
    get idle() {
      const slots = [...lane.book.slots.values()]
      const settled = !seeding.isOpen && slots.every((slot) => slot.state === 'used' && slot.settled)
      // Without a signer there is nothing to be done for what waits.
      return settled && handle.waits === 0 && (isDrained() || context.signer === undefined)
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
    reservations.stop()
    lane.stop()
    clock.stop()
    background.stop()
  }
}
