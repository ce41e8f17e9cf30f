import type { LocalAccount } from 'viem'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import type { Environment } from '../../chain/environment.js'
import type { Book } from '../../ledger/book.js'
import type { AccountKind } from '../../rpc/codec.js'
import type { GroupPolicy, LaneSnapshot, Limits, Logger } from '../../types/index.js'
import type { LaneReport } from '../../types/laneReports.js'
import type { LaneKey, Lease, Store } from '../../types/store.js'
import type { Admission } from '../admission/admission.js'
import type { Seed } from '../confirmation/seeding.js'
import type { LaneSession } from '../session/laneSession.js'
import type { SpentBefore } from '../signing/feeBudget.js'
import type { Ahead } from './ahead.js'
import type { LaneContext } from './core.js'
import type { ExternalNonces } from './externalNonces.js'
import type { Restored } from './restore.js'
import type { LaneWorker } from './worker.js'

export type EngineOptions = {
  readonly environment: Environment
  readonly session: LaneSession
  readonly endpointPool: EndpointPool
  readonly store: Store
  readonly key: LaneKey
  readonly lease: Lease
  readonly book: Book
  readonly seed: Seed
  readonly tokenAbove: number
  /** The highest sequence number that was read when the lane was opened. The inbox reads from there. */
  readonly arrived: number
  readonly admission: Admission
  /** True while no other process can have taken the lane. */
  readonly leased: () => boolean
  /** The journal found that another process owns the lane. */
  readonly lost: () => void
  readonly limits: Limits
  readonly logger: Logger
  /** See `LaneLog`. */
  readonly notice: (sentence: string) => void
  readonly signer: LocalAccount | undefined
  /** The engine owns this part, and stops it when it ends. */
  readonly ahead: Ahead
  readonly spentBefore: readonly SpentBefore[]
  readonly lossDepth: LaneContext['lossDepth']
  readonly finality: LaneContext['finality']
  readonly broadcast: 'first' | 'all'
  readonly simulate: boolean
  readonly gasMultiplier: number
  readonly groups: GroupPolicy | undefined
}

/** One lane at work. Each of its parts has its own file and names what it uses of the context. */
export type Engine = {
  readonly context: LaneContext
  /** Serves callers. */
  readonly worker: LaneWorker
  readonly externalNonces: ExternalNonces
  /** Continues with the transactions that an earlier process life left in the store. */
  restore(restored: Restored): void
  /** Resolves when the counts that the lane read first have settled, or when their time is over. */
  settled(): Promise<void>
  /** Begins to follow the chain, and resends the transactions of the earlier process life. */
  start(): void
  /** Options or states outside the engine have changed, so waiting transactions are checked again. */
  kick(): void
  resume(): void
  /** The lane follows the chain, so its endpoint is polled. */
  readonly following: boolean
  /** Sets the kind of the account, as read from its code. A delegated account may have few transactions in flight. */
  accountIs(account: AccountKind): void
  /** The lane has no transaction to send or to watch, and no caller waits: another process could own it. */
  readonly idle: boolean
  setBalance(wei: bigint): void
  /** The state of the lane now, from its own books. */
  snapshot(): LaneSnapshot
  /** The report about the lane for other processes. */
  report(): LaneReport
  /** Finishes the reserved nonces, and fills gaps within `closeTimeoutMs`. No new transaction is admitted. */
  finish(): Promise<void>
  /** Ends the engine: from now on it signs and writes nothing, and ignores answers that still arrive. */
  stop(): void
}
