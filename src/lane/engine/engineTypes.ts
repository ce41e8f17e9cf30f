import type { Hash, LocalAccount } from 'viem'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import type { Environment } from '../../chain/environment.js'
import type { Book } from '../../ledger/book.js'
import type { AccountKind } from '../../rpc/methods/accountKind.js'
import type { GroupPolicy, LaneSnapshot, Limits, Logger } from '../../types/index.js'
import type { LaneKey, Lease, Store } from '../../types/store.js'
import type { Admission } from '../admission/admission.js'
import type { Intake } from '../admission/intake.js'
import type { Broadcaster } from '../broadcast/broadcast.js'
import type { Seed } from '../confirmation/seeding.js'
import type { GroupCounts } from '../queue/groups.js'
import type { LaneSession } from '../session/laneSession.js'
import type { SpentBefore } from '../signing/feeBudget.js'
import type { Signing } from '../signing/signing.js'
import type { Ahead } from './ahead.js'
import type { LaneContext } from './context.js'
import type { ExternalNonces } from './externalNonces.js'
import type { Restored } from './restore.js'
import type { WaitReasons } from './waitReasons.js'

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
  /** What other processes left in the store is taken in from here. */
  readonly arrived: number
  readonly admission: Admission
  /** Nobody else can have taken the lane. */
  readonly leased: () => boolean
  /** The journal found out that another process has the lane. */
  readonly lost: () => void
  readonly limits: Limits
  readonly logger: Logger
  /** See `LaneLog`. */
  readonly notice: (sentence: string) => void
  readonly signer: LocalAccount | undefined
  /** The engine's own from here on: it ends with it. */
  readonly ahead: Ahead
  readonly spentBefore: readonly SpentBefore[]
  readonly lossDepth: LaneContext['lossDepth']
  readonly broadcast: 'first' | 'all'
  readonly simulate: boolean
  readonly gasMultiplier: number
  readonly groups: GroupPolicy | undefined
}

/** One lane at work: the parts below, wired. Each part has its own file and knows only the context. */
export type Engine = {
  readonly context: LaneContext
  readonly intake: Intake
  readonly signing: Signing
  readonly externalNonces: ExternalNonces
  readonly broadcaster: Pick<Broadcaster, 'room' | 'window'>
  readonly reasons: WaitReasons
  /** Takes up what an earlier life left in the store. */
  restore(restored: Restored): void
  /** Resolves when the counts that the lane began with have settled, or their time is over. */
  settled(): Promise<void>
  /** Begins to follow the chain; resends what was inherited. */
  start(): void
  /** Something outside the engine changed what it may do. */
  kick(): void
  resume(): void
  /** Somebody else's feed saw these pre-confirmed; block 0 means the one being built. */
  observe(blockNumber: number, hashes: readonly Hash[]): void
  /** The operator's word on an unresolved transaction. False where it is none. */
  resolve(id: string, fate: 'executed' | 'notExecuted'): boolean
  /** It follows the chain: its node has something to answer. */
  readonly following: boolean
  /** What the account is, as read from its code: delegated ones may have few transactions in flight. */
  accountIs(account: AccountKind): void
  /** As it was read last. */
  readonly account: LaneSnapshot['account']
  /** Resolves when nothing is being signed, committed or sent. */
  quiet(): Promise<void>
  /** Queued, prepared or being prepared. */
  readonly waiting: number
  readonly counts: GroupCounts
  /** Resolves when nothing is queued, all is sealed and no gap is left. Rejects when it stops before that. */
  drained(): Promise<void>
  /** Nothing is left to send, to watch or to wait for: the lane could be given to anybody. */
  readonly idle: boolean
  readonly balanceWei: bigint | undefined
  readonly feeBudget: LaneSnapshot['feeBudget']
  /** What all that is in flight, or waits for a nonce, may cost at most. */
  readonly owedWei: bigint
  /** What is left of the balance beside that; undefined while it is not known. */
  readonly spareWei: bigint | undefined
  /** True where that may be out of date: the balance is read with the next tick. */
  requestBalance(): boolean
  setBalance(wei: bigint): void
  /** From now on nothing is signed, written or followed here, and what was learnt no longer changes anything. */
  stop(): void
}
