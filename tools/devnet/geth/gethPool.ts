import type { NonceList } from './nonceList.js'
import { createPoolAdmission } from './poolAdmission.js'
import { createNoncer, createPoolContents } from './poolContents.js'
import { createPoolPromotion } from './poolPromotion.js'
import {
  GETH_LIMITS,
  type GethHead,
  type GethLimits,
  POOL_ERRORS,
  type PoolError,
  type PoolTransaction,
} from './poolTypes.js'

export type GethPoolOptions<T> = {
  readonly head: GethHead
  /** Limits; a missing one has geth's default. */
  readonly limits?: Partial<GethLimits>
  /** Minimum tip: `--txpool.pricelimit`. @default 1n */
  readonly tipWeiMin?: bigint
  /** Checks that need no state: `ValidateTransaction` of `core/txpool/validation.go`. @default none */
  readonly refuse?: (tx: T, tipWeiMin: bigint) => string | undefined
  /**
   * Order in which a new head or a batch visits the accounts, and a new minimum tip the transactions. In geth
   * it is Go's random map order.
   * @default order of arrival
   */
  readonly mapOrder?: (keys: readonly string[]) => readonly string[]
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
  const { mapOrder = (addresses) => addresses, refuse } = options
  let limits: GethLimits = { ...GETH_LIMITS, ...options.limits }
  let { head, tipWeiMin = 1n } = options
  const [limitsNow, headNow] = [() => limits, () => head]
  const noncer = createNoncer((address) => head.account(address).nonce)
  const contents = createPoolContents<T>(limitsNow, noncer)
  const { byHash, pending, queue, priced } = contents
  const { admit, markDirty, takeDirty } = createPoolAdmission(contents, limitsNow, headNow)
  const { promote, demote, truncate } = createPoolPromotion(contents, limitsNow, headNow, mapOrder)
  priced.setBaseFee(head.nextBaseFeeWei)
  // geth requests a reorganisation when a transaction has passed the checks that need no state.
  let isDue = false

  return {
    add(tx) {
      if (byHash.has(tx.hash)) return POOL_ERRORS.known
      const message = refuse?.(tx, tipWeiMin)
      if (message !== undefined) return { message, isTemporary: false }
      isDue = true
      return admit(tx)
    },
    reorganise() {
      if (!isDue) return
      isDue = false
      promote(mapOrder(takeDirty()))
      truncate()
    },
    reset(next, reinjected = []) {
      head = next
      noncer.clear()
      for (const tx of reinjected) admit(tx)
      promote(mapOrder(queue.addresses()))
      takeDirty()
      isDue = false
      demote()
      priced.setBaseFee(head.nextBaseFeeWei)
      noncer.clear()
      for (const [address, list] of pending) noncer.set(address, lastNonceOf(list) + 1)
      truncate()
    },
    place(tx) {
      const old = pending.get(tx.from)?.get(tx.nonce) ?? queue.get(tx.from)?.get(tx.nonce)
      if (old !== undefined) contents.takeOut(old, true)
      queue.add(tx)
      contents.include(tx)
      markDirty(tx.from)
      isDue = true
    },
    remove(hash) {
      const tx = byHash.get(hash)
      if (tx !== undefined) contents.takeOut(tx, true)
      return tx !== undefined
    },
    setTipMin(wei) {
      const old = tipWeiMin
      tipWeiMin = wei
      if (wei <= old) return
      const isCheap = (hash: string) => (byHash.get(hash)?.maxPriorityFeePerGas ?? wei) < wei
      const cheap = mapOrder([...byHash.keys()].filter(isCheap))
      for (const hash of cheap) {
        const tx = byHash.get(hash)
        if (tx !== undefined) contents.takeOut(tx, false)
      }
      priced.removed(cheap.length)
    },
    setLimits(next) {
      limits = { ...limits, ...next }
      isDue = true
    },
    get: (hash) => byHash.get(hash),
    count: noncer.get,
    pending: (address) => pending.get(address)?.all() ?? [],
    queued: (address) => queue.get(address)?.all() ?? [],
    addresses: () => [...new Set([...pending.keys(), ...queue.addresses()])],
    get size() {
      return byHash.size
    },
    get version() {
      return contents.version
    },
  }
}

function lastNonceOf<T extends PoolTransaction>(list: NonceList<T>): number {
  return (list.last() as T).nonce
}
