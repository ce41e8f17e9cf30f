import type { Address } from 'viem'
import type { HoldReason } from './lane.js'

/** A problem of a sender. */
export type HealthCause =
  /**
   * The lane is not open. `said` is the error of the last attempt to open it; missing until the first attempt
   * has ended.
   */
  | { for: 'opening'; said?: string | undefined }
  /** The sender was closed. */
  | { for: 'closed' }
  /** The queue is full: as many transactions wait as `limits.queueMax` allows. */
  | { for: 'queue'; queued: number }
  /**
   * The lane has a hold. If another process owns the lease, this is the hold that it stored, a few seconds
   * old.
   */
  | { for: 'hold'; hold: HoldReason }
  /**
   * The endpoint does not answer, or its answers are unusable. `said` quotes the last one, truncated and
   * redacted.
   */
  | { for: 'endpoint'; endpoint: string; role: 'both' | 'read' | 'send'; said?: string | undefined }
  /** The store fails to read or write. `said` is its error. */
  | { for: 'store'; said: string }
  /**
   * Options that must be equal in all processes differ from those of the lease owner, whose values apply.
   * `options`: their names.
   */
  | { for: 'options'; options: string[] }
  /** An account of a pool could not pay for a plain transfer at the last call of `ready()`. */
  | { for: 'empty' }
  /**
   * The account `address` is not in the pool, but has `transactions` that have not ended and are in no sealed
   * block. No process served it at the last call of `ready()`: its key was removed, or its process is down.
   */
  | { for: 'unserved'; transactions: number }

/** A problem of the sender of `address`. */
export type HealthReason = HealthCause & {
  /** The account of the sender; for `unserved`, the account that no process serves. */
  address: Address
  /** Wall time at which the problem began, in milliseconds since the epoch. Missing if it is not known. */
  sinceMs?: number
  /** The problem in plain English: one sentence. Its wording may change. */
  sentence: string
  /** True if only an operator can end the problem. */
  operator: boolean
  /** The probe that fails because of this problem alone. Missing if the sender works in spite of it. */
  stops?: 'live' | 'ready'
}

/** The result of `health()`, in the terms of Kubernetes probes. */
export type Health = {
  /** True unless only a restart helps: the file of the store was replaced. */
  live: boolean
  /**
   * True if a transaction that is sent now is accepted and processed: the lane is open without a hold, the
   * queue has room, the store works, one endpoint is readable and one takes transactions. A pool is ready
   * while one of its accounts is ready. A standby needs no endpoint of its own: another process owns the
   * lease.
   */
  ready: boolean
  /** Number of nonces that were taken and that no sealed block has used, as in `snapshot()`. */
  inFlight: number
  /** Number of transactions that wait for a nonce, as in `snapshot()`. */
  queued: number
  /** All problems. The problems that make `live` or `ready` false come first. */
  reasons: HealthReason[]
}
