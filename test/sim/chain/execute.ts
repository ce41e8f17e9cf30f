import { type Address, getContractAddress } from 'viem'
import { programOf } from '../program.js'
import type { SimTransaction } from '../transaction.js'
import type { Adjustment, Executed } from './block.js'
import { type Draft, ZERO_WORD } from './state.js'

/** The code of an account that has delegated itself (EIP-7702). */
export const DELEGATED = `0xef0100${'de'.repeat(20)}` as const

/** The code of an account that is delegated to code which creates a contract at each call. */
export const CREATING = `0xef0100${'ce'.repeat(20)}` as const

/** The gas of a call beyond that of its bytes. */
const CALL_GAS = 30_000
const CREATE_GAS = 32_000
const TRANSACTION_GAS = 21_000
const AUTHORIZATION_GAS = 25_000

/** The intrinsic gas, which every node checks before it reads the state. */
export function intrinsicGas(tx: Pick<SimTransaction, 'data' | 'to' | 'authorizations'>): number {
  let gas = TRANSACTION_GAS + tx.authorizations * AUTHORIZATION_GAS + (tx.to === null ? CREATE_GAS : 0)
  for (let at = 2; at < tx.data.length; at += 2) {
    // 16 a byte, 4 a zero byte (EIP-2028).
    gas += tx.data.charCodeAt(at) === 48 && tx.data.charCodeAt(at + 1) === 48 ? 4 : 16
  }
  return gas
}

export function gasNeeded(tx: Pick<SimTransaction, 'data' | 'to' | 'authorizations'>): number {
  return intrinsicGas(tx) + (tx.data === '0x' ? 0 : CALL_GAS)
}

/** True if executing a transaction now would revert. */
export function wouldRevert(tx: Pick<SimTransaction, 'data' | 'to'>, state: Pick<Draft, 'storage'>): boolean {
  const program = programOf(tx)
  if (program?.kind === 'revert') return true
  if (program?.kind !== 'dependent' || tx.to === null) return false
  return state.storage(tx.to, BigInt(program.needs)) === ZERO_WORD
}

/** The maximum cost of a transaction, which the balance must cover for its inclusion. */
export function costWei(tx: SimTransaction): bigint {
  return tx.valueWei + BigInt(tx.gas) * tx.maxFeeWei
}

/** The reason why a transaction cannot be included now. */
export type Skipped = 'stale' | 'gapped' | 'feeTooLow' | 'unaffordable'

/** Executes a transaction on a draft, or returns the reason why it must wait. */
export function execute(tx: SimTransaction, draft: Draft, baseFeeWei: bigint): Executed | Skipped {
  const account = draft.account(tx.from)
  if (tx.nonce < account.nonce) return 'stale'
  if (tx.nonce > account.nonce) return 'gapped'
  if (tx.maxFeeWei < baseFeeWei) return 'feeTooLow'
  if (costWei(tx) > account.balanceWei) return 'unaffordable'
  const needed = gasNeeded(tx)
  const ok = needed <= tx.gas && !wouldRevert(tx, draft)
  const gasUsed = Math.min(needed, tx.gas)
  let priceWei = baseFeeWei + tx.tipWei
  if (priceWei > tx.maxFeeWei) priceWei = tx.maxFeeWei
  const spentWei = BigInt(gasUsed) * priceWei + (ok ? tx.valueWei : 0n)
  const created = ok && tx.to === tx.from && draft.code(tx.from) === CREATING ? 1 : 0
  if (tx.authorizations > 0) draft.setCode(tx.from, tx.clears ? '0x' : DELEGATED)
  draft.setAccount(tx.from, {
    // Authorizations take effect even if the execution reverts (EIP-7702).
    nonce: account.nonce + 1 + tx.authorizations + created,
    balanceWei: account.balanceWei - spentWei,
  })
  const contractAddress = ok ? apply(tx, draft) : null
  return { tx, status: ok ? 'success' : 'reverted', gasUsed, priceWei, contractAddress }
}

/** The effects of a success beyond nonce and fee. Returns the address of the created contract, if any. */
function apply(tx: SimTransaction, draft: Draft): Address | null {
  if (tx.to === null) {
    const address = getContractAddress({ from: tx.from, nonce: BigInt(tx.nonce) }).toLowerCase() as Address
    draft.setCode(address, '0x6001')
    return address
  }
  if (draft.knows(tx.to)) {
    const recipient = draft.account(tx.to)
    draft.setAccount(tx.to, { ...recipient, balanceWei: recipient.balanceWei + tx.valueWei })
  }
  const program = programOf(tx)
  if (program !== undefined && program.kind !== 'transfer') {
    draft.setStorage(tx.to, BigInt(program.marker), `0x${'0'.repeat(63)}1`)
  }
  return null
}

export function adjust(draft: Draft, { address, balanceWei = 0n, nonces = 0, code }: Adjustment): void {
  if (code !== undefined) draft.setCode(address, code)
  const account = draft.account(address)
  const balance = account.balanceWei + balanceWei
  draft.setAccount(address, {
    nonce: account.nonce + nonces,
    balanceWei: balance < 0n ? 0n : balance,
  })
}
