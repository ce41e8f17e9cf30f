import { createFutureQueue } from './futureQueue.js'
import { createLookup } from './lookup.js'
import { createNonceList, type NonceList } from './nonceList.js'
import {
  GETH_LIMITS,
  type GethHead,
  type GethLimits,
  POOL_ERRORS,
  type PoolError,
  type PoolTransaction,
} from './poolTypes.js'
import { createPricedList } from './pricedList.js'
import { truncatePending } from './truncatePending.js'
import { type PooledAccount, refusedAsDelegated, refusedByState } from './validateState.js'

export type GethPoolOptions<T> = {
  readonly head: GethHead
  /** Limits; a missing one has geth's default. */
  readonly limits?: Partial<GethLimits>
  /** Minimum tip: `--txpool.pricelimit`. @default 1n */
  readonly tipWeiMin?: bigint
  /** Checks that need no state: `ValidateTransaction` of `core/txpool/validation.go`. @default none */
  readonly refuse?: (tx: T, tipWeiMin: bigint) => string | undefined
  /**
   * Order in which a new head visits the accounts. In geth it is Go's random map order.
   * @default order of arrival
   */
  readonly mapOrder?: (addresses: readonly string[]) => readonly string[]
}

export type GethPool<T> = {
  /**
   * Adds a transaction, or returns the error. Promotion and limits follow in `reorganise`, which makes it
   * executable.
   */
  add(tx: T): PoolError | undefined
  /**
   * geth's background work shortly after an `add`: promotes transactions, then silently truncates to the
   * limits.
   */
  reorganise(): void
  /** Applies a new head. `reinjected`: transactions of orphaned blocks that the new blocks do not contain. */
  reset(head: GethHead, reinjected?: readonly T[]): void
  /** Adds a transaction without any check, and replaces one with the same nonce. */
  place(tx: T): void
  /** Removes a transaction; the account's higher nonces wait for its nonce again. */
  remove(hash: string): boolean
  /** Drops the transactions below the new minimum tip, as `miner_setGasPrice` does. */
  setTipMin(wei: bigint): void
  setLimits(limits: Partial<GethLimits>): void
  get(hash: string): T | undefined
  /** `eth_getTransactionCount` at `pending`. */
  count(address: string): number
  /** Executable transactions of an account, in nonce order. */
  pending(address: string): readonly T[]
  /** The account's other transactions, in nonce order. */
  queued(address: string): readonly T[]
  addresses(): readonly string[]
  readonly size: number
  /** Changes with every change of the contents. */
  readonly version: number
}

export function createGethPool<T extends PoolTransaction>(options: GethPoolOptions<T>): GethPool<T> {
  let limits: GethLimits = { ...GETH_LIMITS, ...options.limits }
  const { mapOrder = (addresses) => addresses } = options
  let { head, tipWeiMin = 1n } = options
  const lookup = createLookup<T>()
  const { byHash } = lookup
  const priced = createPricedList(byHash)
  priced.setBaseFee(head.nextBaseFeeWei)
  const queue = createFutureQueue<T>(() => limits)
  const pending = new Map<string, NonceList<T>>()
  let dirty = new Set<string>()
  // geth requests a reorganisation when a transaction has passed the checks that need no state.
  let isDue = false
  let changesSinceReorganisation = 0
  let version = 0
  // geth's `noncer`, which falls back to the state of the head.
  let nextNonces = new Map<string, number>()

  const nextNonce = (address: string) => nextNonces.get(address) ?? head.account(address).nonce

  function lowerNextNonce(address: string, nonce: number): void {
    if (nextNonce(address) > nonce) nextNonces.set(address, nonce)
  }

  function forget(txs: readonly T[]): void {
    for (const { hash } of txs) lookup.remove(hash)
    priced.removed(txs.length)
    if (txs.length > 0) version++
  }

  function accountOf(address: string): PooledAccount<T> {
    return {
      account: head.account(address),
      pending: pending.get(address),
      nextNonce: nextNonce(address),
      hasAuthorization: lookup.hasAuthorization(address),
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
    for (let nonce = nextNonce(tx.from); nonce < tx.nonce; nonce++) {
      if (queued?.get(nonce) === undefined) return true
    }
    return false
  }

  const isPending = ({ from, nonce }: T) => pending.get(from)?.get(nonce) !== undefined

  /** Makes room in a full pool by dropping the cheapest transactions. */
  function makeRoom(tx: T): PoolError | undefined {
    const capacity = limits.globalSlots + limits.globalQueue
    if (lookup.slots + tx.slots <= capacity) return undefined
    if (priced.isUnderpriced(tx)) return POOL_ERRORS.underpriced
    if (changesSinceReorganisation > Math.floor(limits.globalSlots / 4)) return POOL_ERRORS.full
    const dropped = priced.discard(lookup.slots - capacity + tx.slots)
    if (dropped === undefined) return POOL_ERRORS.full
    if (isGapped(tx) && dropped.some(isPending)) {
      for (const each of dropped) priced.put(each)
      return POOL_ERRORS.futureReplacesPending
    }
    for (const each of dropped) changesSinceReorganisation += takeOut(each, false)
    return undefined
  }

  /** `removeTx`: returns the number of transactions that are no longer executable. */
  function takeOut(tx: T, isInPricedList: boolean): number {
    lookup.remove(tx.hash)
    if (isInPricedList) priced.removed(1)
    version++
    const list = pending.get(tx.from)
    const invalids = list?.remove(tx.nonce)
    if (list === undefined || invalids === undefined) {
      queue.remove(tx)
      return 0
    }
    if (list.size === 0) pending.delete(tx.from)
    for (const each of invalids) queue.add(each)
    lowerNextNonce(tx.from, tx.nonce)
    return 1 + invalids.length
  }

  function include(tx: T): void {
    lookup.add(tx)
    priced.put(tx)
    version++
  }

  /** `add`, and the part of `addTxsLocked` that marks accounts as dirty. */
  function admit(tx: T): PoolError | undefined {
    if (byHash.has(tx.hash)) return POOL_ERRORS.known
    const refusal = refused(tx) ?? makeRoom(tx)
    if (refusal !== undefined) return refusal
    const list = pending.get(tx.from)
    if (list?.get(tx.nonce) !== undefined) return replacePending(list, tx)
    const added = queue.add(tx)
    if (added === false) return POOL_ERRORS.replacementUnderpriced
    const old = added.replaced === undefined ? undefined : byHash.get(added.replaced)
    if (old === undefined) dirty.add(tx.from)
    else takeOut(old, true)
    include(tx)
    return undefined
  }

  function replacePending(list: NonceList<T>, tx: T): PoolError | undefined {
    const { inserted, old } = list.add(tx, limits.priceBump)
    if (!inserted) return POOL_ERRORS.replacementUnderpriced
    if (old !== undefined) forget([old])
    include(tx)
    queue.bump(tx.from)
    return undefined
  }

  /** `promoteExecutables`. */
  function promote(addresses: readonly string[]): void {
    const { promotable, dropped } = queue.promote(addresses, head, nextNonce)
    for (const tx of promotable) promoteOne(tx)
    forget(dropped)
  }

  function promoteOne(tx: T): void {
    let list = pending.get(tx.from)
    if (list === undefined) {
      list = createNonceList<T>(true)
      pending.set(tx.from, list)
    }
    const { inserted, old } = list.add(tx, limits.priceBump)
    version++
    if (!inserted) return forget([tx])
    if (old !== undefined) forget([old])
    nextNonces.set(tx.from, tx.nonce + 1)
    queue.bump(tx.from)
  }

  /** `demoteUnexecutables`. */
  function demote(): void {
    for (const address of mapOrder([...pending.keys()])) {
      const list = pending.get(address) as NonceList<T>
      const { nonce, balanceWei } = head.account(address)
      const olds = list.forward(nonce)
      const { removed, invalids } = list.filter(balanceWei, head.gasLimit)
      for (const { hash } of [...olds, ...removed]) lookup.remove(hash)
      for (const tx of invalids) queue.add(tx)
      priced.removed(olds.length + removed.length)
      if (list.size > 0 && list.get(nonce) === undefined) for (const tx of list.cap(0)) queue.add(tx)
      if (list.size === 0) pending.delete(address)
    }
    version++
  }

  function truncate(): void {
    const cut = truncatePending(pending, limits)
    for (const { from, nonce } of cut) lowerNextNonce(from, nonce)
    forget(cut)
    forget(queue.truncate())
    changesSinceReorganisation = 0
  }

  return {
    add(tx) {
      if (byHash.has(tx.hash)) return POOL_ERRORS.known
      const message = options.refuse?.(tx, tipWeiMin)
      if (message !== undefined) return { message, isTemporary: false }
      isDue = true
      return admit(tx)
    },
    reorganise() {
      if (!isDue) return
      isDue = false
      promote([...dirty])
      dirty = new Set()
      truncate()
    },
    reset(next, reinjected = []) {
      head = next
      nextNonces = new Map()
      for (const tx of reinjected) admit(tx)
      promote(mapOrder(queue.addresses()))
      dirty = new Set()
      isDue = false
      demote()
      priced.setBaseFee(head.nextBaseFeeWei)
      nextNonces = new Map()
      for (const [address, list] of pending) nextNonces.set(address, (list.last() as T).nonce + 1)
      truncate()
    },
    place(tx) {
      const old = pending.get(tx.from)?.get(tx.nonce) ?? queue.get(tx.from)?.get(tx.nonce)
      if (old !== undefined) takeOut(old, true)
      queue.add(tx)
      include(tx)
      dirty.add(tx.from)
      isDue = true
    },
    remove(hash) {
      const tx = byHash.get(hash)
      if (tx !== undefined) takeOut(tx, true)
      return tx !== undefined
    },
    setTipMin(wei) {
      const old = tipWeiMin
      tipWeiMin = wei
      if (wei <= old) return
      const cheap = [...byHash.values()].filter((tx) => tx.maxPriorityFeePerGas < wei)
      for (const tx of cheap) takeOut(tx, false)
      priced.removed(cheap.length)
    },
    setLimits(next) {
      limits = { ...limits, ...next }
      isDue = true
    },
    get: (hash) => byHash.get(hash),
    count: nextNonce,
    pending: (address) => pending.get(address)?.all() ?? [],
    queued: (address) => queue.get(address)?.all() ?? [],
    addresses: () => [...new Set([...pending.keys(), ...queue.addresses()])],
    get size() {
      return byHash.size
    },
    get version() {
      return version
    },
  }
}
