import type { TransactionReceipt } from 'viem'
import type { StoredCosts } from '../../types/store.js'
import { noteResult } from './changes.js'
import type { Transaction, WallClock } from './transaction.js'

/**
 * viem's formatter of an OP-stack chain adds `l1Fee`. Receipts of blob transactions contain the blob fields.
 */
type Receipt = Pick<
  TransactionReceipt,
  'status' | 'gasUsed' | 'effectiveGasPrice' | 'blobGasUsed' | 'blobGasPrice'
> & { readonly l1Fee?: unknown }

/** Stores the result of the receipt. Returns true if a part of it was new. */
export function noteReceipt(transaction: Transaction, receipt: Receipt, clock: WallClock): boolean {
  return noteResult(transaction, { status: receipt.status, costs: costsOf(receipt) }, clock)
}

/** Undefined if the receipt lacks the price, as on some chains. */
function costsOf({ gasUsed, effectiveGasPrice, l1Fee, ...blob }: Receipt): StoredCosts | undefined {
  if (typeof gasUsed !== 'bigint' || typeof effectiveGasPrice !== 'bigint') return undefined
  const l1 = typeof l1Fee === 'bigint' ? { l1Fee } : {}
  const blobFee = (blob.blobGasUsed ?? 0n) * (blob.blobGasPrice ?? 0n)
  return {
    gasUsed,
    effectiveGasPrice,
    ...l1,
    totalFee: gasUsed * effectiveGasPrice + blobFee + (l1.l1Fee ?? 0n),
  }
}
