import type { LocalAccount } from 'viem'
import type { Lane } from '../allocator/lane.js'
import type { Clock, Random } from '../clock.js'
import { type Fate, TxlaneError, type TxlaneErrorCode } from '../errors/base.js'
import { safeError } from '../errors/redactError.js'
import { effectiveTip, feeCap } from '../ledger/fees.js'
import type { Attempt, BlockRef } from '../ledger/slot.js'
import type { Signatures } from '../rpc/signatures.js'
import type { Store, StoredTransaction } from '../store/store.js'
import type { Limits, Logger, Tx } from '../types.js'
import type { Emitter } from './emitter.js'
import type { Seed } from './following/seeding.js'
import type { Admission } from './intake/admission.js'
import type { LaneHandle } from './lane/handle.js'
import type { Hub } from './nodes/hub.js'
import type { Repeats } from './repeats.js'
import { sayDear } from './signing/dear.js'
import type { FeeOracle } from './signing/feeOracle.js'
import { describe, type Transaction } from './transaction/transaction.js'
import type { Stop } from './unlessStopped.js'

/** What the parts of a lane's engine share. Parts know this and not each other. */
export type LaneContext = {
  readonly lane: Lane
  readonly hub: Hub
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
  /** Those of them that go to another lane of their pool, as they arrive there: nothing else is done with them here. */
  readonly handed: Map<Transaction, Pick<StoredTransaction, 'lane' | 'fingerprint' | 'pooled'>>
  /** The public face of a transaction: always the same object. */
  txOf(transaction: Transaction): Tx
  readonly handle: LaneHandle
  readonly admission: Admission
  /** After it nobody signs, sends or follows the chain here any more; another process may. */
  readonly closing: Stop
  readonly closed: boolean
  /** What the account did before the first record of this lane. */
  readonly history: Seed['history']
  /** The highest nonce whose no-op could not be paid for, or not outbid what sits there, within the lane's ceiling. */
  blockedAt: number
}

/** Nothing is reserved above a nonce that cannot even be filled; asked again when it is stuck the next time. */
export function block(
  context: { readonly lane: Lane; blockedAt: number },
  nonce: number,
  detail?: string,
): void {
  context.blockedAt = Math.max(context.blockedAt, nonce)
  context.lane.holds.add('blocked', detail)
}

/**
 * What nobody awaits is told as an event. An error of a signer, a store or an endpoint may quote a key or a URL: a copy
 * without them is told, and the same again as a number.
 */
export function reportError({ errors }: { readonly errors: Repeats<Error> }, error: unknown): void {
  errors.note(safeError(error))
}

/** An error about one transaction. */
export function txError(
  transaction: Transaction,
  code: TxlaneErrorCode,
  fate: Fate,
  message: string,
  cause?: unknown,
): TxlaneError {
  const { refusal, dear } = transaction
  const details = [dear && sayDear(dear), refusal].filter(Boolean).join(' ') || undefined
  return new TxlaneError(message, { code, fate, tx: describe(transaction), cause, details })
}

/** One for all attempts that were made at a block, as there may be thousands. */
const blockRefs = new WeakMap<BlockRef, BlockRef>()

/** For `Attempt.madeAt`. */
export function newestBlock({ hub }: { readonly hub: Hub }): BlockRef | undefined {
  const { head } = hub.tracker
  if (head === undefined) return undefined
  const ref = blockRefs.get(head) ?? { number: head.number, hash: head.hash }
  blockRefs.set(head, ref)
  return ref
}

/** The most this attempt can cost, in wei: what the node holds against the balance. */
export function attemptCost(
  context: { readonly transactions: ReadonlyMap<string, Transaction>; readonly fees: FeeOracle },
  attempt: Attempt,
): bigint {
  const transaction = attempt.claim === undefined ? undefined : context.transactions.get(attempt.claim)
  return (transaction?.request.value ?? 0n) + attemptFees(context, attempt)
}

/** The same without the value: in a block with this base fee, in wei, where that is known. */
export function attemptFees(
  context: { readonly fees: FeeOracle },
  { fees, gas, raw }: Attempt,
  baseFee?: bigint,
): bigint {
  const cap = feeCap(fees)
  const price = baseFee === undefined ? cap : baseFee + effectiveTip(fees, baseFee)
  return gas * price + context.fees.dataFee(raw.length / 2)
}
