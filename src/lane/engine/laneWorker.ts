import type { Hash } from 'viem'
import type { TxlaneError } from '../../errors/base.js'
import type { HoldReason, LaneSnapshot, SendOptions, TxRequest } from '../../types/index.js'
import type { GroupCounts } from '../queue/groups.js'
import type { AdmissionTarget, Caller } from '../transaction/caller.js'
import type { Transaction } from '../transaction/transaction.js'
import type { LaneHealth } from './health.js'

/**
 * Serves the lane in this process: as its leader, or as a standby, which posts commands for the leader and reads their results
 * from the store.
 */
export type LaneWorker = {
  /** Calls back once the transaction is in the store. */
  add(request: TxRequest, options: SendOptions, target: AdmissionTarget, caller: Caller): void
  /** The transaction as this process knows it, which may be newer than its record in the store. */
  findLive(by: { id: string } | { hash: Hash }): Transaction | undefined
  /**
   * A caller of this process has a transaction that was read from the store. It is read once more, because no event was
   * emitted for a change between that read and now.
   */
  trackFromStore(transaction: Transaction): void
  /** Reads in advance the prices that the first transaction needs. Never rejects: a failed read is repeated later. */
  prefetchFees(): Promise<void>
  /** Resolves when the store has the state of this process, including stages that no other process waits for. */
  flushed(stages: boolean): Promise<void>
  /** Another feed saw these transactions pre-confirmed; block 0 means the pending block. */
  observe(blockNumber: number, hashes: readonly Hash[]): void
  /** An operator decides the fate of an unresolved transaction. */
  resolve(id: string, fate: 'executed' | 'notExecuted'): Promise<void>
  snapshot(): Promise<LaneSnapshot>
  /** The health, from memory alone. */
  health(): LaneHealth
  /** The transactions at nonces that are in flight. */
  inFlight(): readonly Transaction[]
  resync(): Promise<void>
  /** Resolves to true once nothing is queued, all is sealed and no gap is left; to false if the lane changes its owner before. */
  drained(): Promise<boolean>
  /** The error for this number of further transactions of a group, one by default; undefined if they are admitted. */
  refusal(group: string | undefined, more?: number): TxlaneError | undefined
  readonly counts: GroupCounts
  /** How many further transactions it could send now; negative by the number of waiting ones. */
  readonly room: number
  /** How many transactions are in flight or wait for a nonce. */
  readonly load: number
  readonly holds: readonly HoldReason[]
  /** The balance minus the cost of everything that the lane has to send, in wei; undefined while it is not known. */
  readonly unreservedBalanceWei: bigint | undefined
  /** Returns true if that may be out of date, and reads the balance again. */
  requestBalance(): boolean
  /** Another lane of this process is about to hand over a transaction of this cost. */
  give(costWei: bigint): void
}
