import type { LocalAccount } from 'viem'
import { checkNames, type Names } from '../../errors/checkNames.js'
import { invalid } from '../../errors/invalid.js'
import { MS_MAX, object, whole } from '../../validate/validate.js'
import { checkAccount } from '../../validate/validateLane.js'

/** More often than that no chain has blocks to be looked at. */
const EVERY_MS_MIN = 100

/** Keeps the accounts of a pool between two balances. */
export type TreasuryOptions = {
  /**
   * Pays. Its lane is one of its own, in the store of the pool, and it is none of the pool's accounts. Other senders may
   * use it as well.
   */
  account: LocalAccount
  /** An account of the pool that has less gets money, in wei. */
  below: bigint
  /** How much it has then, in wei. */
  upTo: bigint
  /** How often balances are looked at, in milliseconds; at once where an account has run out of money. @default 10_000 */
  everyMs?: number | undefined
}

/** When it pays, and how much. */
export type TreasuryPolicy = Omit<TreasuryOptions, 'account'>

/** @throws `INVALID` for what cannot be a treasury of these accounts */
export function checkTreasury(treasury: unknown, accounts: readonly LocalAccount[]): void {
  if (treasury === undefined) return
  const { account, below, upTo, everyMs } = object('treasury', treasury)
  checkNames('treasury', treasury as object, TREASURY_OPTIONS)
  checkAccount(account, 'treasury.account')
  const { address } = account as LocalAccount
  if (accounts.some((one) => one.address.toLowerCase() === address.toLowerCase()))
    throw invalid('treasury.account', address, "an account that is none of the pool's")
  for (const [name, wei] of [
    ['below', below],
    ['upTo', upTo],
  ] as const)
    if (typeof wei !== 'bigint' || wei <= 0n) throw invalid(`treasury.${name}`, wei, 'wei, above 0')
  if ((upTo as bigint) < (below as bigint))
    throw invalid('treasury.upTo', upTo, `at least \`below\`, which is ${below}`)
  whole('treasury.everyMs', everyMs, EVERY_MS_MIN, MS_MAX)
}

const TREASURY_OPTIONS = {
  account: true,
  below: true,
  upTo: true,
  everyMs: true,
} satisfies Names<TreasuryOptions>
