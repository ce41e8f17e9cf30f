import type { TransactionReceipt, TransactionResponse } from 'ethers'
import { isHash } from 'viem'
import { isTxlaneError } from '../errors/base.js'
import type { Landed, Sender, Tx } from '../types/index.js'
import { endError, movedError } from './errors.js'

/** viem's receipt of a sealed block. */
export type SealedReceipt = Extract<Landed, { stage: 'sealed' | 'safe' | 'finalized' }>['receipt']

/**
 * The end of a transaction that was requested by one of its hashes. The receipt may be that of another
 * attempt.
 */
export type Landing = { readonly receipt: TransactionReceipt } | { readonly error: unknown }

/** Looks up the lane's transactions by hash. */
export type Landings = {
  /**
   * Undefined if the hash does not belong to the lane.
   *
   * @throws TxlaneError if the lane cannot be asked about its own transaction, for example because it is
   *   closed
   */
  find(hash: string): Promise<Tx | undefined>
  /**
   * Remembers the response given to the caller, because the expected address of a contract follows from it.
   */
  onResponse(tx: Tx, response: TransactionResponse): void
  /** The current receipt; undefined if no sealed block contains the transaction. */
  now(tx: Tx): Promise<SealedReceipt | undefined>
  /** Waits for the end of the transaction. Rejects only by the signal. */
  await(tx: Tx, signal: AbortSignal, receiptOf: ReceiptOf): Promise<Landing>
}

type ReceiptOf = (receipt: SealedReceipt) => TransactionReceipt

// Long enough to read a receipt. A transaction that a reorg removed meanwhile has none.
const NOW_MS = 5_000
// Number of own hashes that are remembered. If the lane cannot be asked, older hashes are left to the
// provider.
const OWN_MAX = 10_000

export function createLandings(sender: Sender): Landings {
  // The nonces of contracts whose address callers already know. The address follows from the nonce.
  const deployed = new WeakMap<Tx, number>()
  const own = new Set<string>()

  function hasMoved(tx: Tx, landed: Landed): boolean {
    const told = deployed.get(tx)
    return told !== undefined && told !== landed.nonce
  }

  return {
    async find(hash) {
      if (!isHash(hash)) return undefined
      try {
        return await sender.get({ hash })
      } catch (error) {
        if (own.has(hash)) throw error
        return undefined
      }
    },
    onResponse(tx, response) {
      own.add(response.hash)
      if (own.size > OWN_MAX) own.delete(own.values().next().value as string)
      if (response.to === null) deployed.set(tx, response.nonce)
    },
    async now(tx) {
      if (!SEALED.has(tx.stage)) return undefined
      try {
        const landed = await tx.wait('sealed', { timeoutMs: NOW_MS })
        // The contract is at another address than expected, so this hash has no receipt; waiting callers get
        // an error.
        return hasMoved(tx, landed) ? undefined : (landed.receipt as SealedReceipt)
      } catch (error) {
        if (isTxlaneError(error) && error.code === 'WAIT_TIMEOUT') return undefined
        throw endError(error)
      }
    },
    async await(tx, signal, receiptOf) {
      try {
        const landed = await tx.wait('sealed', { signal })
        const receipt = receiptOf(landed.receipt as SealedReceipt)
        return hasMoved(tx, landed) ? { error: movedError(landed.hash, receipt) } : { receipt }
      } catch (error) {
        signal.throwIfAborted()
        return { error: endError(error) }
      }
    },
  }
}

const SEALED: ReadonlySet<string> = new Set(['sealed', 'safe', 'finalized'])
