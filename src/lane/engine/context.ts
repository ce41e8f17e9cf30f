import type { LocalAccount } from 'viem'
import type { Lane } from '../../allocator/lane.js'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import type { Clock, Random } from '../../platform/clock.js'
import type { Repeats } from '../../platform/repeats.js'
import type { Signatures } from '../../rpc/signatures.js'
import type { Limits, Logger, Tx } from '../../types/index.js'
import type { Store, StoredTransaction } from '../../types/store.js'
import type { Admission } from '../admission/admission.js'
import type { Seed } from '../confirmation/seeding.js'
import type { Emitter } from '../emitter.js'
import type { LaneSession } from '../session/laneSession.js'
import type { FeeOracle } from '../signing/feeOracle.js'
import type { Transaction } from '../transaction/transaction.js'

/** What the parts of a lane's engine share. Parts know this and not each other. */
export type LaneContext = {
  readonly lane: Lane
  readonly endpointPool: EndpointPool
  readonly store: Store
  readonly clock: Clock
  readonly random: Random
  readonly limits: Limits
  readonly logger: Logger
  /** See `LaneLog`. */
  readonly notice: (sentence: string) => void
  readonly events: Emitter
  /** See `reportError`. */
  readonly errors: Repeats<Error>
  readonly fees: FeeOracle
  readonly lossDepth: 'child' | 'safe' | number
  readonly broadcast: 'first' | 'all'
  /** Undefined for a lane that only hands out nonces: it promises P1 and P2, not P3. */
  signer: LocalAccount | undefined
  readonly signatures: Signatures
  /** Transactions that have not ended, by id. */
  readonly transactions: Map<string, Transaction>
  /** Transactions that are to be written with the next journal write. */
  readonly changed: Set<Transaction>
  /** The transactions of `changed` that move to another lane of the pool, with their fields for that lane. */
  readonly handedOff: Map<Transaction, Pick<StoredTransaction, 'lane' | 'fingerprint' | 'pooled'>>
  /** The public handle of a transaction: always the same object. */
  txOf(transaction: Transaction): Tx
  readonly session: LaneSession
  readonly admission: Admission
  /** Once aborted, this process neither signs, sends nor follows the chain for the lane. Another process may. */
  readonly closing: AbortSignal
  readonly closed: boolean
  /** The account's use of nonces before the first record of this lane. */
  readonly history: Seed['history']
  /** The highest nonce whose no-op, within the lane's ceiling, cannot be paid or cannot outbid the pooled transaction. */
  blockedAt: number
}
