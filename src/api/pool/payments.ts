import type { LocalAccount } from 'viem'
import { checkNames, type Names } from '../../errors/checkNames.js'
import { invalid } from '../../errors/invalid.js'
import { MS_MAX, object, whole } from '../../validate/validate.js'
import { checkAccount } from '../../validate/validateLane.js'
import type { Member } from '../sender/member.js'
import { poolRuntime } from './poolRuntime.js'
import type { createTreasury, Treasury } from './treasury.js'

/** No chain has new blocks more often than this. */
const EVERY_MS_MIN = 100

/** A treasury keeps the accounts of a pool between two balances. */
export type TreasuryOptions = {
  /**
   * The account that pays. It must not be one of the pool's accounts. It has its own lane in the store of the pool,
   * which other senders may use as well.
   */
  account: LocalAccount
  /** An account of the pool with a lower balance gets a payment; in wei, above 0. */
  below: bigint
  /** The payment raises the balance to this value; in wei, at least `below`. */
  upTo: bigint
  /**
   * The interval between two checks of the balances, in milliseconds, at least 100. A check also follows at once
   * when an account has run out of money. @default 10_000
   */
  everyMs?: number | undefined
}

/** The balances at which a treasury pays, and how often it checks them. */
export type TreasuryPolicy = Omit<TreasuryOptions, 'account'>

/** @throws `INVALID` for options that cannot be a treasury of these accounts */
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

/** The payments of a treasury. Their code is loaded when the first payment may be due. */
export type Payments = Treasury & {
  /** Starts to watch the balances of the accounts. Further calls do nothing. */
  start(): void
}

export function createPayments(
  parts: Parameters<typeof createTreasury>[0] & { readonly member: Pick<Member, 'runtime'> },
): Payments {
  let loading: Promise<Treasury> | undefined
  let stopped = false

  async function load(): Promise<Treasury> {
    const { createTreasury } = await poolRuntime(parts.member)
    const treasury = createTreasury(parts)
    if (stopped) treasury.stop()
    return treasury
  }

  /**
   * If this code cannot be loaded, neither can the lanes: the caller that opens a lane gets the error. The next start
   * retries.
   */
  const unloaded = () => {
    loading = undefined
  }

  return {
    start() {
      if (loading !== undefined || stopped) return
      loading = load()
      loading.catch(unloaded)
    },
    checkSoon: () => void loading?.then((treasury) => treasury.checkSoon(), unloaded),
    stop() {
      stopped = true
      loading?.then((treasury) => treasury.stop(), unloaded)
    },
  }
}
