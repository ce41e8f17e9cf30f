import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import type { TxlaneError } from '../../errors/base.js'
import type { SlotAction } from '../../ledger/event.js'
import { awaitsCommit, type Slot } from '../../ledger/slot.js'
import type { LaneKey } from '../../types/store.js'
import type { Emitter } from '../emitter.js'
import type { LaneSession } from '../session/laneSession.js'
import type { Transaction } from '../transaction/transaction.js'
import type { Core } from './core.js'
import type { Admitting, Sending } from './parts.js'
import type { WaitReasons } from './waitReasons.js'

/** The signals of a lane. A part handles those that concern it. */
type LanePart = {
  /** The table demands these actions for a nonce. */
  readonly perform?: (nonce: number, actions: readonly SlotAction[]) => void
  /** A slot changed. */
  readonly moved?: (nonce: number, before: Slot | undefined, after: Slot) => void
  /** A tick of the poller was processed. `newHead`: it brought a new block. */
  readonly ticked?: (newHead: boolean) => void
  /** Room, money or a price may have become available for the next nonce. */
  readonly freed?: () => void
  /** There may be a hole below the cursor. */
  readonly gaps?: () => void
  /** Bytes of this nonce were sent to an endpoint. */
  readonly sent?: (nonce: number) => void
  /** The transaction cannot be sent, for this reason. */
  readonly failed?: (transaction: Transaction, error: TxlaneError) => void
  /** The transaction goes to another lane of its pool. */
  readonly handedOff?: (transaction: Transaction, to: LaneKey) => void
  /** The transaction is removed from memory; it remains in the store. */
  readonly forgotten?: (transaction: Transaction) => void
  /** The account may have at most this number of transactions in a pool; undefined for no limit. */
  readonly accountLimited?: (transactionsMax: number | undefined) => void
  /** The lane ends. */
  readonly stopped?: () => void
}

/** Sends each signal to the parts that handle it, in the order in which they were attached. */
type LaneSignals = Required<LanePart> & { attach(part: LanePart): void }

export function createSignals(): LaneSignals {
  const perform = createSignal<'perform'>()
  const moved = createSignal<'moved'>()
  const ticked = createSignal<'ticked'>()
  const freed = createSignal<'freed'>()
  const gaps = createSignal<'gaps'>()
  const sent = createSignal<'sent'>()
  const failed = createSignal<'failed'>()
  const handedOff = createSignal<'handedOff'>()
  const forgotten = createSignal<'forgotten'>()
  const accountLimited = createSignal<'accountLimited'>()
  const stopped = createSignal<'stopped'>()
  return {
    attach(part) {
      perform.add(part.perform)
      moved.add(part.moved)
      ticked.add(part.ticked)
      freed.add(part.freed)
      gaps.add(part.gaps)
      sent.add(part.sent)
      failed.add(part.failed)
      handedOff.add(part.handedOff)
      forgotten.add(part.forgotten)
      accountLimited.add(part.accountLimited)
      stopped.add(part.stopped)
    },
    perform: perform.emit,
    moved: moved.emit,
    ticked: ticked.emit,
    freed: freed.emit,
    gaps: gaps.emit,
    sent: sent.emit,
    failed: failed.emit,
    handedOff: handedOff.emit,
    forgotten: forgotten.emit,
    accountLimited: accountLimited.emit,
    stopped: stopped.emit,
  }
}

/** A loop over an array that is complete once the lane is constructed: each transaction passes several signals. */
function createSignal<name extends keyof LanePart>() {
  type Handler = (...args: Parameters<NonNullable<LanePart[name]>>) => void
  const handlers: Handler[] = []
  return {
    add(handler: LanePart[name]): void {
      if (handler !== undefined) handlers.push(handler as Handler)
    },
    emit(...args: Parameters<NonNullable<LanePart[name]>>): void {
      for (const handler of handlers) handler(...args)
    },
  }
}

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

type SurroundingsContext = {
  readonly endpointPool: Pick<EndpointPool, 'onEndpoint' | 'tracker'>
  readonly events: Emitter
  readonly session: LaneSession
}

/**
 * Reacts to changes of the endpoints, which it also emits as events, and of the fee settings. Returns a
 * function that ends this.
 */
export function watchSurroundings(
  { endpointPool, events, session }: SurroundingsContext,
  { broadcaster, budget, repair }: Sending,
  { nonceAssigner }: Admitting,
): () => void {
  const offEndpoints = endpointPool.onEndpoint(({ port, role, profile, trouble }, change, reason) => {
    const said = change === 'failing' ? trouble?.said : undefined
    const more = { ...(reason === undefined ? {} : { reason }), ...(said === undefined ? {} : { said }) }
    events.emit('endpoint', { name: port.name, role, change, profile: profile.current(), ...more })
    broadcaster.kick()
  })
  // The next signatures, holds, and transactions at their ceiling depend on the fee settings.
  const offFees = session.settings.onChange(() => {
    budget.check()
    repair.feesChanged()
    nonceAssigner.run()
    endpointPool.tracker.wake()
  })
  return () => {
    offEndpoints()
    offFees()
  }
}
