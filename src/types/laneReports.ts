import type { Address, Hex } from 'viem'
import type { Slot } from '../ledger/slot.js'
import type { HoldReason } from './index.js'
import type { LaneKey } from './store.js'

/**
 * The report of a lane's owner for the other processes of its pool. It is out of date as soon as it is read.
 */
export type LaneReport = {
  /** The reasons why it assigns no nonces for now. */
  readonly holds: readonly HoldReason[]
  /**
   * The number of transactions that it could send now; negative by the number of waiting ones. Missing if the
   * lane belongs to no pool.
   */
  readonly room?: number | undefined
  /**
   * The number of transactions that wait for a nonce, or have one that no sealed block is known to have used.
   */
  readonly load?: number | undefined
  /** The maximum cost of all of these, in wei. Missing if the queue is full, so that no transaction can be added. */
  readonly owedWei?: bigint | undefined
  /**
   * The options of its process that must be equal in all processes, by name. A missing option has its
   * default.
   */
  readonly options?: Readonly<Record<string, string>> | undefined
  /** The counter whose nonces the lane assigns, if it is one of a contract. */
  readonly counter?: CounterPlace | undefined
}

export type ReportedLane = {
  readonly lane: LaneKey
  /** True if a process owns its lease, which has not expired. */
  readonly isHeld: boolean
  /** The last report of the last lease owner; undefined if it has made none. */
  readonly report: LaneReport | undefined
}

/** A counter in the storage of a contract. */
export type CounterPlace = {
  /** The kind of nonce: `storage`, `entryPoint`, `safe` or `forwarder`. */
  readonly kind: string
  readonly contract: Address
  /** The storage slot of the count. */
  readonly slot: Hex
  /** As in `NonceSource`. */
  readonly account?: Address | undefined
  /** As in `NonceSource`. */
  readonly key?: bigint | undefined
}

/** The lane of a counter in a contract, at its last write. */
export type StoredCounter = {
  readonly lane: LaneKey
  readonly counter: CounterPlace
  /** The process that owns the lease; undefined if none does, or the lease has expired. */
  readonly holder: string | undefined
  /** Milliseconds until that lease ends, unless it is renewed. */
  readonly leaseMs: number | undefined
  /** The highest cursor ever written: the next count. Undefined for a lane that has written nothing. */
  readonly cursor: number | undefined
  /** The counts that are handed out or used and not final, lowest first. */
  readonly slots: readonly Slot[]
}
