import type { NonceList } from './nonceList.js'
import type { PoolContents } from './poolContents.js'
import {
  finalError,
  type GethAccount,
  type GethHead,
  type GethLimits,
  POOL_ERRORS,
  type PoolError,
  type PoolTransaction,
} from './poolTypes.js'

/** Adds transactions to the pool's contents, if the state and the limits allow it. */
type PoolAdmission<T> = {
  /** `add`, and the part of `addTxsLocked` that marks accounts as dirty. */
  admit(tx: T): PoolError | undefined
  /** Marks an account, so that the next reorganisation promotes its transactions. */
  markDirty(address: string): void
  /** Returns the marked accounts, and starts the period until the next reorganisation. */
  takeDirty(): readonly string[]
}

export function createPoolAdmission<T extends PoolTransaction>(
  contents: PoolContents<T>,
  limits: () => GethLimits,
  head: () => GethHead,
): PoolAdmission<T> {
  const { byHash, pending, queue, priced, noncer } = contents
  let dirty = new Set<string>()
  let changesSinceReorganisation = 0

  function accountOf(address: string): PooledAccount<T> {
    return {
      account: head().account(address),
      pending: pending.get(address),
      nextNonce: noncer.get(address),
      hasAuthorization: contents.hasAuthorization(address),
    }
  }

  /** The second half of `validateAuth`. */
  function isAuthorityBusy(authority: string): boolean {
    return (pending.get(authority)?.size ?? 0) + (queue.get(authority)?.size ?? 0) > 1
  }

  function refused(tx: T): PoolError | undefined {
    const account = accountOf(tx.from)
    return (
      refusedByState(tx, account) ??
      refusedAsDelegated(tx, account) ??
      (tx.authorities.some(isAuthorityBusy) ? POOL_ERRORS.authorityReserved : undefined)
    )
  }

  /** Whether a nonce between the account's next nonce and this transaction is missing in the pool. */
  function isGapped(tx: T): boolean {
    const queued = queue.get(tx.from)
    for (let nonce = noncer.get(tx.from); nonce < tx.nonce; nonce++) {
      if (queued?.get(nonce) === undefined) return true
    }
    return false
  }

  const isPending = ({ from, nonce }: T) => pending.get(from)?.get(nonce) !== undefined

  /** Makes room in a full pool by dropping the cheapest transactions. */
  function makeRoom(tx: T): PoolError | undefined {
    const { globalSlots, globalQueue } = limits()
    const capacity = globalSlots + globalQueue
    if (contents.slots + tx.slots <= capacity) return undefined
    if (priced.isUnderpriced(tx)) return POOL_ERRORS.underpriced
    if (changesSinceReorganisation > Math.floor(globalSlots / 4)) return POOL_ERRORS.full
    const dropped = priced.discard(contents.slots - capacity + tx.slots)
    if (dropped === undefined) return POOL_ERRORS.full
    if (isGapped(tx) && dropped.some(isPending)) {
      for (const each of dropped) priced.put(each)
      return POOL_ERRORS.futureReplacesPending
    }
    for (const each of dropped) changesSinceReorganisation += contents.takeOut(each, false)
    return undefined
  }

  function replacePending(list: NonceList<T>, tx: T): PoolError | undefined {
    const { inserted, old } = list.add(tx, limits().priceBump)
    if (!inserted) return POOL_ERRORS.replacementUnderpriced
    if (old !== undefined) contents.forget([old])
    contents.include(tx)
    queue.bump(tx.from)
    return undefined
  }

  return {
    admit(tx) {
      if (byHash.has(tx.hash)) return POOL_ERRORS.known
      const refusal = refused(tx) ?? makeRoom(tx)
      if (refusal !== undefined) return refusal
      const list = pending.get(tx.from)
      if (list?.get(tx.nonce) !== undefined) return replacePending(list, tx)
      const added = queue.add(tx)
      if (added === false) return POOL_ERRORS.replacementUnderpriced
      const old = added.replaced === undefined ? undefined : byHash.get(added.replaced)
      if (old === undefined) dirty.add(tx.from)
      else contents.takeOut(old, true)
      contents.include(tx)
      return undefined
    },
    markDirty: (address) => void dirty.add(address),
    takeDirty() {
      const marked = [...dirty]
      dirty = new Set()
      changesSinceReorganisation = 0
      return marked
    },
  }
}

/** The pool's records of an account. */
type PooledAccount<T> = {
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
function refusedByState<T extends PoolTransaction>(
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
function refusedAsDelegated<T extends PoolTransaction>(
  tx: T,
  { account, pending, nextNonce, hasAuthorization }: PooledAccount<T>,
): PoolError | undefined {
  if (!account.hasCode && !hasAuthorization) return undefined
  if (pending === undefined) return nextNonce === tx.nonce ? undefined : POOL_ERRORS.gappedDelegated
  return pending.get(tx.nonce) === undefined ? POOL_ERRORS.inFlightDelegated : undefined
}
