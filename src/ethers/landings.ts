import type { TransactionReceipt, TransactionResponse } from 'ethers'
import { isHash } from 'viem'
import { isTxlaneError } from '../errors/base.js'
import type { Landed, Sender, Tx } from '../types/index.js'
import { endError, movedError } from './errors.js'

/** A receipt as viem has it, of a sealed block. */
export type SealedReceipt = Extract<Landed, { stage: 'sealed' | 'safe' | 'finalized' }>['receipt']

/** How a transaction that is asked about by one of its hashes has ended: by another attempt's receipt, maybe. */
export type Landing = { readonly receipt: TransactionReceipt } | { readonly error: unknown }

/** What the lane knows of hashes. */
export type Landings = {
  /**
   * Undefined for what is not the lane's.
   * @throws TxlaneError where the lane cannot be asked, closed as it is, about what it sent
   */
  find(hash: string): Promise<Tx | undefined>
  /** What the caller was told of a transaction: the address of a contract follows from it. */
  tell(tx: Tx, response: TransactionResponse): void
  /** Now, and nothing where it is in no sealed block. */
  now(tx: Tx): Promise<SealedReceipt | undefined>
  /** Once it is over. Rejects with the signal alone. */
  await(tx: Tx, signal: AbortSignal, receiptOf: ReceiptOf): Promise<Landing>
}

type ReceiptOf = (receipt: SealedReceipt) => TransactionReceipt

// Long enough for a receipt to be read; what a reorganisation took back meanwhile is not there.
const NOW_MS = 5_000
// Hashes kept to know one's own by; an older one is the provider's business where the lane cannot be asked.
const OWN_MAX = 10_000

export function createLandings(sender: Sender): Landings {
  // Contracts that callers know the address of already, by the nonce that it follows from.
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
    tell(tx, response) {
      own.add(response.hash)
      if (own.size > OWN_MAX) own.delete(own.values().next().value as string)
      if (response.to === null) deployed.set(tx, response.nonce)
    },
    async now(tx) {
      if (!SEALED.has(tx.stage)) return undefined
      try {
        const landed = await tx.wait('sealed', { timeoutMs: NOW_MS })
        // Nothing is known under a hash whose contract is elsewhere: who waits is told so.
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
