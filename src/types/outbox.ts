import type { Hash } from 'viem'
import type { ChainKey, LaneKey } from './store.js'

/** The right to deliver under a name, until another process takes it. Every write is checked against it. */
export type OutboxLease = {
  /** The name of the outbox. */
  readonly name: string
  /** Increased with each change of owner. */
  readonly epoch: number
  /** The name of the owner. */
  readonly holder: string
}

/** A stage that was delivered, or is to be delivered. */
export type DeliveredStage = {
  /** A stage of the transaction, or `reorged`. */
  readonly stage: string
  /** The number of restarts of the id at that time. */
  readonly life: number
  /** The block that contained the transaction, if any. */
  readonly block?: Hash
}

/** The delivery state of one transaction under one name. */
export type StoredDelivery = {
  /** The chain of the transaction. */
  readonly chain: ChainKey
  /** The id of the transaction. */
  readonly id: string
  /**
   * `delivered`: there is nothing to deliver. `open`: a delivery is pending, or may be. `dead`: the delivery
   * was given up.
   */
  readonly state: 'delivered' | 'open' | 'dead'
  /** The last stage that the receiver accepted. */
  readonly delivered?: DeliveredStage
  /** The stage that is being delivered now. The receiver may have seen it, but has not accepted it. */
  readonly next?: DeliveredStage
  /** The number of deliveries before `next`. */
  readonly count: number
  /** The number of failed attempts for `next`. */
  readonly tries: number
  /** The error of the last attempt. */
  readonly failure?: string
  /** The time of the first failure, in milliseconds since the epoch. */
  readonly sinceMs?: number
}

/** A lane that has changed since it was read under a name. */
export type OutboxLane = {
  readonly lane: LaneKey
  /** The revision of its newest change. */
  readonly revision: number
  /** The revision up to which it was read; 0 if it never was. */
  readonly read: number
}

/** The progress of an outbox. */
export type OutboxState = {
  /** True if it was written at least once. */
  readonly isKnown: boolean
  /** True if a process owns its lease, which has not expired. */
  readonly isHeld: boolean
  /** The lanes of all chains with unread changes. */
  readonly behind: readonly OutboxLane[]
  /** The number of deliveries in the state `open`. */
  readonly open: number
  /** The number of deliveries in the state `dead`. */
  readonly dead: number
}

/** One atomic write. */
export type OutboxWrite = {
  /** The revisions up to which these lanes were read. A lower one than before changes nothing. */
  readonly read: readonly { readonly lane: LaneKey; readonly revision: number }[]
  /**
   * Replace the delivery states of their transactions under the name. Deliveries of unknown transactions are
   * ignored.
   */
  readonly deliveries: readonly StoredDelivery[]
}

/** The selected deliveries: those of some transactions of a chain, or those in one state. */
export type DeliveriesBy =
  | { readonly chain: ChainKey; readonly ids: readonly string[] }
  | { readonly state: 'open' | 'dead'; readonly limit: number }

/** The methods of a store for outboxes. A delivery is deleted together with its transaction. */
export type OutboxVerbs = {
  /**
   * Takes the right to deliver under a name for `ttlMs`: with a new epoch, or again with the same one if
   * `holder` has it. Resolves with `undefined` while another owner's lease lasts. As for lanes, a lease that
   * ends too far in the future counts as expired. Atomic: of several concurrent attempts exactly one
   * succeeds.
   */
  takeOutbox(name: string, holder: string, ttlMs: number): Promise<OutboxLease | undefined>
  /** Releases the lease, so that the next owner need not wait. Has no effect if another process owns it. */
  releaseOutbox(lease: OutboxLease): Promise<void>
  /** Atomic and fenced: rejects with `LEASE_LOST`, and writes nothing, if the epoch has moved on. */
  writeOutbox(lease: OutboxLease, change: OutboxWrite): Promise<void>
  /** The progress of an outbox. For an unused name it is not known, and every lane is behind. */
  readOutbox(name: string): Promise<OutboxState>
  /** Deliveries under a name, in no particular order. */
  deliveries(name: string, by: DeliveriesBy): Promise<readonly StoredDelivery[]>
}
