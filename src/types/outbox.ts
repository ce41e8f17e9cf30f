import type { Hash } from 'viem'
import type { ChainKey, LaneKey } from './store.js'

/** The right to deliver under a name, until another process takes it. Every write is checked against it. */
export type OutboxLease = {
  /** The name of the outbox. */
  readonly name: string
  /** Rises with each change of holder. */
  readonly epoch: number
  /** Who has it. */
  readonly holder: string
}

/** A stage that was told, or is to be told. */
export type ToldStage = {
  /** A stage of the transaction, or `reorged`. */
  readonly stage: string
  /** How often the id had begun anew by then. */
  readonly life: number
  /** The block that had the transaction, where one had. */
  readonly block?: Hash
}

/** What is known of the deliveries of one transaction under one name. */
export type StoredDelivery = {
  /** The chain of the transaction. */
  readonly chain: ChainKey
  /** The id of the transaction. */
  readonly id: string
  /** `told`: nothing is to be told. `open`: something is, or may be. `dead`: it was given up. */
  readonly state: 'told' | 'open' | 'dead'
  /** What was accepted last. */
  readonly told?: ToldStage
  /** What is handed over now: it may have been heard, and was not accepted. */
  readonly next?: ToldStage
  /** How many were handed over before `next`. */
  readonly count: number
  /** How often `next` failed. */
  readonly tries: number
  /** Why it failed last. */
  readonly failure?: string
  /** When it failed first, in milliseconds since the epoch. */
  readonly sinceMs?: number
}

/** A lane that has changed since it was read under a name. */
export type OutboxLane = {
  readonly lane: LaneKey
  /** Of its newest change. */
  readonly revision: number
  /** Up to where it was read; 0 where it never was. */
  readonly read: number
}

/** How far an outbox is. */
export type OutboxState = {
  /** It was written to at least once. */
  readonly isKnown: boolean
  /** Some process has its lease, and the time of that has not run out. */
  readonly isHeld: boolean
  /** The lanes of all chains that have changes which were not read. */
  readonly behind: readonly OutboxLane[]
  /** How many deliveries have the state `open`. */
  readonly open: number
  /** How many deliveries have the state `dead`. */
  readonly dead: number
}

/** One atomic write: all of it or nothing. */
export type OutboxWrite = {
  /** Changes of these lanes were read up to these revisions. A lower one than before changes nothing. */
  readonly read: readonly { readonly lane: LaneKey; readonly revision: number }[]
  /** Replace what is kept of their transactions under the name. Of a transaction that is not kept nothing is written. */
  readonly deliveries: readonly StoredDelivery[]
}

/** Which deliveries are asked for: those of some transactions of a chain, or those in one state. */
export type DeliveriesBy =
  | { readonly chain: ChainKey; readonly ids: readonly string[] }
  | { readonly state: 'open' | 'dead'; readonly limit: number }

/** What a store keeps for outboxes. A delivery goes with its transaction: it is forgotten when that is. */
export type OutboxVerbs = {
  /**
   * Takes the right to deliver under a name for `ttlMs`: with a new epoch, or again with the same one where `holder` has it.
   * `undefined` while the time of another holder has not run out. As for lanes, a lease that ends too far ahead has run out.
   * Atomic: of several that try at once, one has it.
   */
  takeOutbox(name: string, holder: string, ttlMs: number): Promise<OutboxLease | undefined>
  /** Gives it back, so that the next holder need not wait. Does nothing where another has it. */
  releaseOutbox(lease: OutboxLease): Promise<void>
  /** Atomic, fenced: rejects with `LEASE_LOST`, and writes nothing, when the epoch has moved on. */
  writeOutbox(lease: OutboxLease, change: OutboxWrite): Promise<void>
  /** How far it is. A name that nobody has used is not known, and every lane is behind. */
  readOutbox(name: string): Promise<OutboxState>
  /** Deliveries under a name, in no order. */
  deliveries(name: string, by: DeliveriesBy): Promise<readonly StoredDelivery[]>
}
