import type { TxlaneError } from '../../errors/base.js'
import type { SlotAction } from '../../ledger/event.js'
import type { Slot } from '../../ledger/slot.js'
import type { LaneKey } from '../../types/store.js'
import type { Transaction } from '../transaction/transaction.js'

/** The signals of a lane. A part handles those that concern it. */
export type LanePart = {
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
export type LaneSignals = Required<LanePart> & { attach(part: LanePart): void }

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
