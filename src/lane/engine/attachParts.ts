import { awaitsCommit, type Slot } from '../../ledger/slot.js'
import type { Admitting } from './admitting.js'
import type { Core } from './core.js'
import type { Sending } from './sending.js'
import type { LanePart } from './signals.js'
import type { WaitReasons } from './waitReasons.js'

/**
 * Attaches the parts of a lane to its signals. The order counts: money and bounds know a change before the parts that assign
 * nonces, and the nonce assigner runs last in a tick.
 */
export function attachParts(
  core: Core,
  sending: Sending,
  admitting: Admitting,
  late: { readonly checkDrains: () => void; readonly reasons: WaitReasons },
): void {
  const { signals } = core
  const { funds, bounds, budget, stages, code, barrier, sequences, repair, seeding } = sending
  const { rebalancer, preparer, intake, nonceAssigner, externalNonces } = admitting
  const parts: readonly LanePart[] = [
    { moved: funds.moved },
    { moved: bounds.moved, ticked: bounds.reopen },
    // Transactions move to a funded lane before those that wait for funds are checked again.
    { ticked: rebalancer.check },
    { moved: budget.moved, ticked: budget.check },
    { moved: stages.moved, stopped: stages.unfollow },
    broadcastPart(sending),
    { ticked: (newHead) => tickPreparer(preparer, newHead) },
    { moved: (_, before, after) => code.moved(before, after), ticked: code.ticked },
    { ...repairPart(sending), stopped: repair.stop },
    {
      moved(_, __, after) {
        if (after.state === 'reserved') intake.bound(after.claim)
      },
      failed: intake.failed,
      handedOff: intake.hand,
      forgotten: intake.forget,
    },
    { moved: (_, before, after) => sequences.moved(before, after) },
    openedPart(core),
    { moved: (nonce, _, after) => barrier.moved(nonce, after) },
    { ticked: nonceAssigner.run, freed: nonceAssigner.run },
    { ticked: late.checkDrains },
    { ticked: late.reasons.check },
    { stopped: seeding.stop },
    { stopped: externalNonces.stop },
  ]
  for (const part of parts) signals.attach(part)
}

function tickPreparer(preparer: Admitting['preparer'], newHead: boolean): void {
  if (newHead) preparer.newHead()
  preparer.ticked()
}

function broadcastPart({ broadcaster }: Sending): LanePart {
  return {
    moved(nonce, before, after) {
      if (isNewHole(before, after)) broadcaster.withdraw(nonce)
      if (awaitsCommit(before)) broadcaster.kick()
    },
    ticked(newHead) {
      if (newHead) broadcaster.kick()
    },
    accountLimited: broadcaster.limitAccount,
    stopped: broadcaster.stop,
  }
}

function repairPart({ repair }: Sending): LanePart {
  return {
    moved(_, before, after) {
      if (isNewHole(before, after)) repair.watchGaps()
    },
    ticked() {
      repair.ticked()
      repair.watchGaps()
    },
    gaps: repair.watchGaps,
    sent: repair.sent,
  }
}

const isNewHole = (before: Slot | undefined, after: Slot) =>
  after.state === 'hole' && before?.state !== 'hole'

/** The lowest open nonce makes the poller follow the chain, even if no caller waits for its transaction. */
function openedPart({ context, lane }: Core): LanePart {
  return {
    moved(nonce, before, after) {
      const isOpened = after.state === 'reserved' || after.state === 'outside'
      if (isOpened && after.state !== before?.state && nonce === lane.book.coveredTo)
        context.endpointPool.tracker.sent()
    },
  }
}
