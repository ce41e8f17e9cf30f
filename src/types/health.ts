import type { Address } from 'viem'
import type { HoldReason } from './lane.js'

/** What is not as it should be at a sender. */
export type HealthCause =
  /** Its lane is not open. `said`: why the last try failed; missing before the first one has ended. */
  | { for: 'opening'; said?: string | undefined }
  /** It was closed. */
  | { for: 'closed' }
  /** As many transactions wait as `limits.queueMax` allows. */
  | { for: 'queue'; queued: number }
  /** A hold of the lane. Where another process holds the lane: as that process kept it, a few seconds ago. */
  | { for: 'hold'; hold: HoldReason }
  /** The answers of an endpoint are of no use, or there are none; `said` quotes the last one, cut and redacted. */
  | { for: 'endpoint'; endpoint: string; role: 'both' | 'read' | 'send'; said?: string | undefined }
  /** The store does not read or write. */
  | { for: 'store'; said: string }
  /**
   * Options that have to be equal in all processes are others in the process that holds the lane, whose ones count.
   * `options`: their names.
   */
  | { for: 'options'; options: string[] }
  /** An account of a pool could not pay for a plain transfer when `ready()` was called last. */
  | { for: 'empty' }
  /**
   * `transactions` of the account `address`, which is none of the pool's, have not ended and are in no sealed
   * block, and no process served it when `ready()` was called last: its key was taken out, or its process is down.
   */
  | { for: 'unserved'; transactions: number }

/** Something that is not as it should be at the sender of `address`. */
export type HealthReason = HealthCause & {
  /** The account of the sender; of `unserved`, the one that nobody serves. */
  address: Address
  /** Wall time, in milliseconds since the epoch, since when it stands; missing where that is not known. */
  sinceMs?: number
  /** The same in plain English: one sentence. Its wording may change. */
  sentence: string
  /** Nothing but a person ends it. */
  operator: boolean
  /** What of the sender it takes away by itself; missing where the sender works in spite of it. */
  stops?: 'live' | 'ready'
}

/** What `health()` says, in the terms of Kubernetes. */
export type Health = {
  /** A restart is of no use. False only where nothing but a restart helps: the store's file was replaced. */
  live: boolean
  /**
   * What is sent now is taken on and goes its way: the lane is open and not held, the queue has room, the store works, and
   * an endpoint is read and one takes transactions. A pool is ready while one of its accounts is. A sender whose lane
   * another process holds needs no endpoint of its own.
   */
  ready: boolean
  /** Nonces that were taken and that no sealed block has used, as in `snapshot()`. */
  inFlight: number
  /** Transactions that wait for a nonce, as in `snapshot()`. */
  queued: number
  /** All that is not as it should be; what takes `live` or `ready` away stands in front. */
  reasons: HealthReason[]
}
