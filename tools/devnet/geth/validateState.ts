import type { NonceList } from './nonceList.js'
import {
  finalError,
  type GethAccount,
  POOL_ERRORS,
  type PoolError,
  type PoolTransaction,
} from './poolTypes.js'

/** The pool's records of an account. */
export type PooledAccount<T> = {
  readonly account: GethAccount
  readonly pending: NonceList<T> | undefined
  /** The nonce after the executable transactions. */
  readonly nextNonce: number
  /** Whether a pooled transaction carries an authorization of the account. */
  readonly hasAuthorization: boolean
}

/**
 * `ValidateTransactionWithState` of `core/txpool/validation.go`. Only executable transactions count as spent.
 */
export function refusedByState<T extends PoolTransaction>(
  tx: T,
  { account, pending }: PooledAccount<T>,
): PoolError | undefined {
  const { nonce, balanceWei } = account
  if (tx.nonce < nonce) return finalError(`nonce too low: next nonce ${nonce}, tx nonce ${tx.nonce}`)
  const cost = tx.costWei
  if (cost > balanceWei) {
    return short(`balance ${balanceWei}, tx cost ${cost}`, cost - balanceWei)
  }
  const spent = pending?.totalCostWei ?? 0n
  const old = pending?.get(tx.nonce)
  const more = old === undefined ? cost : cost - old.costWei
  if (spent + more <= balanceWei) return undefined
  const kind = old === undefined ? 'tx cost' : 'tx bumped'
  return short(`balance ${balanceWei}, queued cost ${spent}, ${kind} ${more}`, spent + more - balanceWei)
}

function short(numbers: string, overshotWei: bigint): PoolError {
  return finalError(`insufficient funds for gas * price + value: ${numbers}, overshot ${overshotWei}`)
}

/**
 * `checkDelegationLimit`: an account with code, or with a pooled authorization, may have one executable
 * transaction.
 */
export function refusedAsDelegated<T extends PoolTransaction>(
  tx: T,
  { account, pending, nextNonce, hasAuthorization }: PooledAccount<T>,
): PoolError | undefined {
  if (!account.hasCode && !hasAuthorization) return undefined
  if (pending === undefined) return nextNonce === tx.nonce ? undefined : POOL_ERRORS.gappedDelegated
  return pending.get(tx.nonce) === undefined ? POOL_ERRORS.inFlightDelegated : undefined
}
