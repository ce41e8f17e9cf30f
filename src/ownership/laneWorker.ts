import type { Hash } from 'viem'
import type { TxlaneError } from '../errors/base.js'
import type { GroupCounts } from '../lane/queue/groups.js'
import type { AdmissionTarget, Caller } from '../lane/transaction/caller.js'
import type { Transaction } from '../lane/transaction/transaction.js'
import type { HoldReason, LaneSnapshot, SendOptions, TxRequest } from '../types/index.js'
import type { LaneHealth } from './health.js'

/**
 * Who answers for the lane in this process: its holder, or a guest, who leaves word for the holder and reads in the
 * store what became of it.
 */
export type LaneWorker = {
  readonly kind: 'holder' | 'guest'
  /** Tells once it is kept in the store. */
  add(request: TxRequest, options: SendOptions, target: AdmissionTarget, caller: Caller): void
  /** What is known of it here is newer than what the store says. */
  findLive(by: { id: string } | { hash: Hash }): Transaction | undefined
  /**
   * It was read from the store, and somebody here has it from now on. What became of it since that reading, before it
   * was known here, was told to nobody: it is read once more.
   */
  trackFromStore(transaction: Transaction): void
  /** Finds out what the first transaction would otherwise wait for. Never rejects: what cannot be had is asked again. */
  prefetchFees(): Promise<void>
  /** Resolves when the store holds what is known here: also stages that nobody elsewhere waits for, where they matter. */
  flushed(stages: boolean): Promise<void>
  /** Somebody else's feed saw these pre-confirmed; block 0 means the one being built. */
  observe(blockNumber: number, hashes: readonly Hash[]): void
  /** The operator's word on an unresolved transaction. */
  resolve(id: string, fate: 'executed' | 'notExecuted'): Promise<void>
  snapshot(): Promise<LaneSnapshot>
  /** From memory alone. */
  health(): LaneHealth
  /** Those at nonces that are in flight. */
  inFlight(): readonly Transaction[]
  resync(): Promise<void>
  /** True once nothing is queued, all is sealed and no gap is left; false where the lane changed hands before that. */
  drained(): Promise<boolean>
  /** The error for so many more of a group, one by default; undefined where they are taken on. */
  refusal(group: string | undefined, more?: number): TxlaneError | undefined
  readonly counts: GroupCounts
  /** How many more it could send now; below 0 by how many wait. */
  readonly room: number
  /** How many have a nonce that no sealed block is known to have used, or wait for one. */
  readonly load: number
  readonly holds: readonly HoldReason[]
  /** What is left of the balance beside all that it has to send; undefined where that is not known. */
  readonly unreservedBalanceWei: bigint | undefined
  /** True where that may be out of date: it is found out anew. */
  requestBalance(): boolean
  /** Another lane of this process is about to hand over what may cost so much. */
  give(costWei: bigint): void
}
