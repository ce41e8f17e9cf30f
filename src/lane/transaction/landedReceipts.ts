import type { Hash, TransactionReceipt } from 'viem'
import { replay } from '../../chain/endpoints/calls.js'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import type { MissingReceipt } from '../../chain/endpoints/receipts.js'
import type { Clock } from '../../platform/clock.js'
import { raceAbort } from '../../platform/onAbort.js'
import type { Landed } from '../../types/index.js'
import { noteReceipt, update } from './changes.js'
import type { Transaction } from './transaction.js'
import { closedError, txError } from './txError.js'

export type LandedReceiptsParts = {
  readonly endpointPool: Pick<EndpointPool, 'chain' | 'reader' | 'receipts' | 'tracker'>
  readonly clock: Clock
  readonly receiptPatienceMs: number
  readonly readTimeoutMs: number
  readonly closing: AbortSignal
  /** The transaction reverted in its block. */
  readonly reverted: (transaction: Transaction) => void
  /** The receipt added data to the transaction's record. */
  readonly learned: (transaction: Transaction) => void
  /** Called with each requested receipt that belongs to the transaction's block. */
  readonly receipt: (receipt: TransactionReceipt) => void
}

/** Reads the receipts of transactions that have landed. */
export type LandedReceipts = {
  /** Undefined while no endpoint shows the receipt of the transaction's block. */
  sealed(transaction: Transaction): Promise<Landed | undefined>
  preconfirmed(transaction: Transaction): Promise<Landed>
  /** The endpoints' answers, if they were asked and none had the receipt. */
  missing(transaction: Transaction): MissingReceipt | undefined
  /** No matching receipt is to be expected any more. */
  isHopeless(transaction: Transaction, missing: MissingReceipt): boolean
  /**
   * Resolves when the receipt may be requested again. It does not make the poller faster, because the block
   * has proven the execution.
   */
  due(transaction: Transaction, interrupted: Promise<never>): Promise<void>
  /** Determines the revert data, once for all callers. Only callers that want the error wait for it. */
  whyReverted(transaction: Transaction, block: bigint): Promise<void>
}

/**
 * After this many receipts that contradict a final block, and this time, no matching receipt is to be
 * expected.
 */
const FINAL_MISFITS = 3
const FINAL_PATIENCE_MS = 30_000

export function createLandedReceipts(parts: LandedReceiptsParts): LandedReceipts {
  const { endpointPool, clock, closing } = parts
  const { receipts } = endpointPool
  const replays = new WeakMap<Transaction, Promise<void>>()

  async function sealed(transaction: Transaction): Promise<Landed | undefined> {
    const { hash, nonce, walkedBlock: block } = transaction
    if (transaction.landed) return { ...transaction.landed, stage: atLeastSealed(transaction) } as Landed
    if (hash === undefined || nonce === undefined)
      return transaction.settled ? withoutReceipt(transaction) : undefined
    // Without a known block any receipt of the hash is valid: the transaction was read from the store after
    // it became final.
    const receipt = answeredIn(transaction, block?.hash) ?? (await receipts.get(hash, block))
    if (receipt === undefined || transaction.walkedBlock?.hash !== block?.hash) return undefined
    parts.receipt(receipt)
    if (transaction.record.status === undefined && receipt.status === 'reverted') parts.reverted(transaction)
    if (noteReceipt(transaction, receipt, clock)) parts.learned(transaction)
    if (receipt.status === 'reverted') void whyReverted(transaction, receipt.blockNumber)
    const landed = { id: transaction.id, nonce, hash, status: receipt.status, receipt } as const
    // A process that does not walk the chain does not learn that the block leaves, so it requests the
    // receipt each time.
    if (block !== undefined || transaction.settled)
      transaction.landed = { ...landed, stage: 'sealed' } as unknown as Landed
    return { ...landed, stage: atLeastSealed(transaction) } as unknown as Landed
  }

  function whyReverted(transaction: Transaction, block: bigint): Promise<void> {
    const known = transaction.record.revertData === undefined ? replays.get(transaction) : Promise.resolve()
    if (known) return known
    const { request, lane, gas } = transaction.record
    const at = { block: Number(block), timeoutMs: parts.readTimeoutMs }
    const replaying = replay(endpointPool, { request, from: lane.address, gas }, at).then((data) => {
      if (data === undefined || transaction.record.status !== 'reverted') return
      update(transaction, { revertData: data })
      parts.learned(transaction)
    })
    replays.set(transaction, replaying)
    return replaying
  }

  return {
    sealed,
    whyReverted,
    async preconfirmed(transaction) {
      const { id, nonce = -1, hash = '0x', answeredReceipt: answered } = transaction
      // Not every endpoint serves receipts of pre-confirmed transactions. Without a receipt the status is
      // unknown.
      const found = answered?.transactionHash === hash ? answered : await receipts.find(hash)
      const base = { id, nonce, hash, stage: 'preconfirmed' as const }
      if (found === undefined) return { ...base, receipt: null }
      const blockHash = found === answered ? sealedHash(answered.blockHash) : null
      return { ...base, status: found.status, receipt: { ...found, blockHash } }
    },
    missing: ({ hash, walkedBlock: block }) => hash && receipts.missing(hash, block),
    isHopeless({ stage, settled, walkedBlock }, { sinceMs, misfits }) {
      const waitedMs = clock.now() - sinceMs
      if (waitedMs >= parts.receiptPatienceMs) return true
      // If it was read from the store after it became final, its block is unknown.
      const isFinal = stage === 'finalized' || (settled && walkedBlock === undefined)
      return isFinal && misfits >= FINAL_MISFITS && waitedMs >= FINAL_PATIENCE_MS
    },
    async due(transaction, interrupted) {
      const { hash, walkedBlock: block } = transaction
      const { promise, drop } =
        hash === undefined
          ? { promise: endpointPool.tracker.nextTick(), drop() {} }
          : receipts.due(hash, block)
      const unlessClosed = raceAbort(promise, [closing], () => closedError(transaction))
      await Promise.race([unlessClosed, interrupted]).finally(drop)
    },
  }
}

/** The receipt in the answer to the send, if it is of the block in which the walk found the transaction. */
function answeredIn(
  { hash, answeredReceipt: receipt }: Transaction,
  block: Hash | undefined,
): TransactionReceipt | undefined {
  if (receipt === undefined || block === undefined || receipt.transactionHash !== hash) return undefined
  return receipt.blockHash === block ? { ...receipt, blockHash: block } : undefined
}

/** Some nodes show zeros as the hash of a block that is not sealed. */
const sealedHash = (hash: Hash | null): Hash | null => (isZero(hash) ? null : hash)

const isZero = (hash: Hash | null): boolean => hash !== null && /^0x0*$/.test(hash)

/** Executed by the operator's decision, so no receipt is available. */
function withoutReceipt(transaction: Transaction): never {
  const message = 'It executed by the decision of the operator; its receipt is not known.'
  throw txError(transaction, 'UNRESOLVED', 'executed', message)
}

function atLeastSealed(transaction: Transaction): 'sealed' | 'safe' | 'finalized' {
  const { stage } = transaction
  return stage === 'safe' || stage === 'finalized' ? stage : 'sealed'
}
