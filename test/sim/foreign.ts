import type { Address } from 'viem'
import type { SimTransaction } from './transaction.js'
import { decodeTransaction, encodeTransaction } from './transaction.js'

export type ForeignOptions = {
  readonly chainId: number
  readonly from: Address
  readonly nonce: number
  readonly maxFeeWei: bigint
  readonly tipWei: bigint
  /** Distinguishes transactions: two with the same nonce and salt are equal. */
  readonly salt: number
  readonly valueWei?: bigint
}

const RECIPIENT = '0xf0e1'

/** A transaction of another wallet or program with the lane's key. */
export function foreignTransaction(options: ForeignOptions): SimTransaction {
  const { salt, valueWei = 0n, ...rest } = options
  const raw = encodeTransaction({
    ...rest,
    from: options.from.toLowerCase() as Address,
    type: 'eip1559',
    gas: 21_000,
    valueWei,
    to: `${RECIPIENT}${salt.toString(16).padStart(36, '0')}` as Address,
    data: '0x',
    authorizations: 0,
  })
  return decodeTransaction(raw) as SimTransaction
}

export function isForeign(tx: Pick<SimTransaction, 'to'>): boolean {
  return tx.to?.startsWith(RECIPIENT) === true
}

/** A transfer to itself, with which a lane fills a nonce. */
export function isNoop(tx: Pick<SimTransaction, 'to' | 'from'>): boolean {
  return tx.to === tx.from
}
