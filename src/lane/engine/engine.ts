import { liftedByResume } from '../../allocator/holds.js'
import { createDoneWaiters } from '../../platform/doneWaiters.js'
import { onAbort } from '../../platform/onAbort.js'
import { createInbox, type Inbox } from '../admission/arrivals.js'
import { closedLaneError } from '../session/closedError.js'
import { hasFailed, hasReached } from '../transaction/transaction.js'
import { reportUnresolved } from '../transaction/transactionEvents.js'
import { type Core, createCore, type LaneContext } from './core.js'
import type { Engine, EngineOptions } from './engineTypes.js'
import { createLeaderOperations, createRemoteCommands } from './operations.js'
import { type Admitting, createAdmitting, createFollowing, createSending, type Sending } from './parts.js'
import { createActionRunner } from './runActions.js'
import { attachParts, watchSurroundings } from './signals.js'
import { snapshotOf } from './snapshot.js'
import { createWaitReasons, type WaitReasons } from './waitReasons.js'
import { createLeaderWorker } from './worker.js'

/** Constructs the parts of a lane in the order of a transaction's way, and attaches them to the signals of the lane. */
export function createEngine(options: EngineOptions): Engine {
  const core = createCore(options)
  const { context, queue } = core
  // The inbox is opened by `start`, and reads the transactions that this process did not store itself.
  const inbox: { opened: Inbox | undefined } = { opened: undefined }
  const sending = createSending(core, options, () => admitting.unassigned)
  const admitting = createAdmitting(core, options, sending, (sequence) => inbox.opened?.own(sequence))
  const { order, funds, bounds, broadcaster } = sending
  const reasons = createWaitReasons(context, { order, queue, funds, bounds, broadcaster })
  const follower = createFollowing(core, options, sending, admitting, reasons.check)
  const isDrained = () => isAllDone(context, admitting.intake.open + sending.signing.open)
  const drains = createDoneWaiters(isDrained)
  attachParts(core, sending, admitting, { checkDrains: drains.check, reasons })
  attachActions(core, sending, admitting)
  const operations = createLeaderOperations({ context, intake: admitting.intake, waitingFor: reasons.of })
  const commands = createRemoteCommands(context, operations)
  const offSurroundings = watchSurroundings(context, sending, admitting)
  return engineOf(core, options, sending, admitting, {
    reasons,
    follower,
    operations,
    commands,
    inbox,
    drains,
    isDrained,
    offSurroundings,
  })
}

/** The actions of the table, each carried out by the part that it concerns. */
function attachActions({ context, signals }: Core, sending: Sending, { intake, requeue }: Admitting): void {
  const { signing, broadcaster, usage, stages, sequences } = sending
  const perform = createActionRunner({
    context,
    sign: signing.claim,
    noop: signing.noop,
    bump: signing.bump,
    broadcast: broadcaster.add,
    scheduleResend: broadcaster.later,
    findEvidence: usage.investigate,
    queueAgain(transaction) {
      stages.again(transaction)
      intake.again(transaction)
      sequences.unbound(transaction.id)
      requeue(transaction)
    },
    reclaim: intake.reclaim,
    transactionOf: stages.transactionOf,
    forget: signals.forgotten,
  })
  signals.attach({ perform })
}

type EngineParts = {
  readonly reasons: WaitReasons
  readonly follower: ReturnType<typeof createFollowing>
  readonly operations: ReturnType<typeof createLeaderOperations>
  readonly commands: ReturnType<typeof createRemoteCommands>
  readonly inbox: { opened: Inbox | undefined }
  readonly drains: ReturnType<typeof createDoneWaiters>
  readonly isDrained: () => boolean
  readonly offSurroundings: () => void
}

/** Begins to follow the chain, to resend, and to read the inbox. Returns a function that ends the first of these. */
function startEngine(
  { context, background, commands: done, broken }: Core,
  { session, endpointPool, arrived }: EngineOptions,
  { budget, broadcaster, finalityIndex }: Sending,
  { intake, externalNonces, nonceAssigner }: Admitting,
  { follower, operations, commands, drains, inbox }: EngineParts,
): () => void {
  session.operations = operations
  session.receipt = budget.receipt
  session.awaited = finalityIndex.awaited
  session.foundSealed = finalityIndex.adopt
  session.left = (transaction) => {
    intake.left(transaction)
    drains.check()
  }
  const unfollow = endpointPool.tracker.follow(follower)
  broadcaster.resume()
  externalNonces.start()
  inbox.opened = createInbox(context, {
    after: arrived,
    asking: intake.asking,
    take: intake.arrived,
    command: commands.fulfil,
    done,
    failed: broken,
    background,
  })
  // A lane with nothing to follow sends no request.
  if (follower.pace() !== 'idle') endpointPool.tracker.wake()
  nonceAssigner.run()
  return unfollow
}

function engineOf(
  core: Core,
  options: EngineOptions,
  sending: Sending,
  admitting: Admitting,
  parts: EngineParts,
): Engine {
  const { context, lane, signals, closing, clock, background } = core
  const { session, endpointPool } = options
  const { tracker } = endpointPool
  const { funds, budget, code, seeding, stages, usage, regression } = sending
  const { intake, externalNonces, nonceAssigner } = admitting
  const { follower, inbox, reasons } = parts
  const worker = createLeaderWorker(core, options, sending, admitting, parts)
  let unfollow: (() => void) | undefined

  return {
    context,
    worker,
    externalNonces,
    restore({ open, final }) {
      stages.follow(follower)
      for (const transaction of [...open, ...final]) intake.restore(transaction)
      for (const slot of lane.book.slots.values()) signals.moved(slot.nonce, undefined, slot)
      for (const transaction of open) intake.resume(transaction)
      for (const transaction of final) stages.finalized(transaction)
      // Another process found these unresolved. The listeners of this process have not got the event yet.
      for (const transaction of open) if (transaction.unresolved) reportUnresolved(session, transaction)
    },
    settled: seeding.settled,
    start() {
      unfollow = startEngine(core, options, sending, admitting, parts)
    },
    kick() {
      nonceAssigner.run()
      tracker.wake()
    },
    resume() {
      if (lane.holds.has('jump')) usage.acceptJump()
      regression.accept()
      seeding.accept()
      budget.accept()
      for (const reason of liftedByResume) lane.holds.lift(reason)
    },
    accountIs: code.is,
    get idle() {
      const slots = [...lane.book.slots.values()]
      const settled = !seeding.isOpen && slots.every((slot) => slot.state === 'used' && slot.settled)
      // Without a signer the lane can do nothing for waiting transactions.
      return settled && session.waits === 0 && (parts.isDrained() || context.signer === undefined)
    },
    get following() {
      return follower.pace() !== 'idle'
    },
    setBalance: funds.balance,
    snapshot: () => snapshotOf(core, sending, admitting, reasons),
    report() {
      const holds = lane.holds.list()
      const { rebalancing } = session
      if (rebalancing === undefined) return { holds }
      const room = rebalancing.isLeaving ? 0 : worker.room
      const owedWei = room > 0 ? funds.owedWei : undefined
      return { holds, room, load: worker.load, owedWei }
    },
    finish: () => finishWork(core, sending, admitting),
    stop() {
      closing.abort(closedLaneError())
      unfollow?.()
      inbox.opened?.stop()
      parts.offSurroundings()
      signals.stopped()
      lane.stop()
      clock.stop()
      background.stop()
    },
  }
}

/** Finishes the reserved nonces, and fills gaps within `closeTimeoutMs`. No new transaction is admitted. */
async function finishWork(core: Core, sending: Sending, { intake }: Admitting): Promise<void> {
  const { context } = core
  const { clock, limits } = context
  const untilMs = clock.now() + limits.closeTimeoutMs
  // A second round serves transactions that arrived, or lost their nonce, during the first one.
  for (let rounds = 0; rounds < 2 && !context.closed; rounds++) {
    intake.close()
    await finish(core, sending, Math.max(0, untilMs - clock.now()))
    if (intake.open === 0) break
  }
}

/** A timer fills a gap, and any tick may show that it is none. The close only looks again after this time. */
const LOOK_AGAIN_MS = 50

/** Resolves when nothing is being signed or sent and no gap is left, or the time is up. */
async function finish(
  { context }: Core,
  { signing, broadcaster }: Sending,
  timeoutMs: number,
): Promise<void> {
  const { book, journal } = context.lane
  let late = false
  let off = () => {}
  let cancelLook = () => {}
  const timeUp = new Promise<void>((resolve) => {
    // Another owner finishes the lane then, and the clock of this engine stands still.
    off = onAbort(context.closing, resolve)
    const cancel = context.clock.setTimer(() => {
      late = true
      resolve()
    }, timeoutMs)
    void settled().finally(() => {
      cancel()
      resolve()
    })
  })
  await timeUp
  off()
  cancelLook()

  async function settled(): Promise<void> {
    for (;;) {
      await signing.idle()
      await journal.flushed()
      await broadcaster.idle()
      // Without a signer a gap stays.
      if (late || context.signer === undefined || book.lowestHole() === undefined) return
      await new Promise<void>((resolve) => {
        cancelLook = context.clock.setTimer(resolve, LOOK_AGAIN_MS)
      })
    }
  }
}

/**
 * Nothing is queued or being signed (`open` counts both), every nonce is used, and each transaction is
 * finished.
 */
function isAllDone({ lane, transactions, handedOff }: LaneContext, open: number): boolean {
  const { book } = lane
  if (open > 0 || book.floor !== book.cursor) return false
  // If another transaction used its nonce, a transaction may move to another nonce, so it is not
  // finished before its verdict.
  for (const transaction of transactions.values()) {
    const isOver = hasReached(transaction, 'sealed') || hasFailed(transaction) || transaction.unresolved
    if (!isOver && !handedOff.has(transaction)) return false
  }
  return true
}
