import { liftedByResume } from '../../allocator/holds.js'
import { createDoneWaiters } from '../../platform/doneWaiters.js'
import { createInbox, type Inbox } from '../admission/arrivals.js'
import { closedLaneError } from '../session/laneSession.js'
import { reportUnresolved } from '../transaction/transactionEvents.js'
import { type Admitting, createAdmitting } from './admitting.js'
import { isAllDone } from './allDone.js'
import { attachParts } from './attachParts.js'
import { type Core, createCore } from './core.js'
import type { Engine, EngineOptions } from './engineTypes.js'
import { finishWork } from './finish.js'
import { createFollowing } from './following.js'
import { createRemoteCommands } from './remoteCommands.js'
import { createActionRunner } from './runActions.js'
import { createSending, type Sending } from './sending.js'
import { snapshotOf } from './snapshot.js'
import { watchSurroundings } from './surroundings.js'
import { createLeaderOperations } from './txOperations.js'
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
  const { budget, repair } = sending
  const { nonceAssigner } = admitting
  const offSurroundings = watchSurroundings(context, { broadcaster, budget, nonceAssigner, repair })
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
  { budget, broadcaster }: Sending,
  { intake, externalNonces, nonceAssigner }: Admitting,
  { follower, operations, commands, drains, inbox }: EngineParts,
): () => void {
  session.operations = operations
  session.receipt = budget.receipt
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
