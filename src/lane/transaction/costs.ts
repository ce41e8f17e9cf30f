import type { TransactionReceipt } from 'viem'
import type { StoredCosts } from '../../types/store.js'
import { type Transaction, touched, type WallClock } from './transaction.js'

/** viem's formatter of an OP-stack chain adds the first; the others stand in receipts of blob transactions. */
type Receipt = Pick<
  TransactionReceipt,
  'status' | 'gasUsed' | 'effectiveGasPrice' | 'blobGasUsed' | 'blobGasPrice'
> & { readonly l1Fee?: unknown }

/** Notes what the receipt of its block says. True where something of it was not known. */
export function noteReceipt(transaction: Transaction, receipt: Receipt, clock: WallClock): boolean {
  const { status } = receipt
  const costs = costsOf(receipt)
  const isNews = transaction.status !== status || (costs !== undefined && transaction.costs === undefined)
  if (transaction.status !== status) touched(transaction, clock)
  Object.assign(transaction, { status, costs })
  return isNews
}

/** Undefined where the receipt does not tell: some chains have no price in it. */
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
