import type { Address, Hash } from 'viem'
import type { SimTransaction } from '../transaction.js'
import {
  type AdmissionLimits,
  outbids,
  outbidsByPrice,
  poolFull,
  type Refusal,
  refusal,
  refuseAccount,
  refuseBytes,
  refuseDistant,
} from './admission.js'
import { accountIn, type State } from './state.js'

export type PoolOptions = AdmissionLimits & {
  /** Gapped transactions an account may have; what is beyond is dropped without a word. @default 64 */
  readonly gappedMax?: number
  /** How far above the account's nonce one may be. @default any */
  readonly nonceAheadMax?: number
  /** Executable transactions an account may have; what is beyond is dropped without a word. @default any */
  readonly executableMax?: number
  /** The base fee of the next block, where the effective price decides what replaces another. @default both fees do */
  readonly priceAt?: (() => bigint) | undefined
  /** Executable transactions an account is sure of when the pool is full. @default 16 */
  readonly guaranteedSlots?: number
  /** In-flight transactions of accounts with delegated code: 1 on reth, 4 on Base. */
  readonly delegatedMax: number
}

export type Admission = { readonly ok: true } | ({ readonly ok: false } & Refusal)

export type Pool = {
  add(tx: SimTransaction, state: State): Admission
  /** Puts transactions back that a reorg or a lost flashblock took out of their blocks; the head is an older one. */
  restore(txs: readonly SimTransaction[], state: State, baseFeeWei: bigint): void
  get(from: Address, nonce: number): SimTransaction | undefined
  has(hash: Hash): boolean
  remove(hash: Hash): void
  /** Finishes what the pool does in the background. */
  settle(): void
  /** Those that can follow each other into a block, from the account's nonce on. */
  executable(from: Address, nonce: number): readonly SimTransaction[]
  /** The nonce after the last of them. */
  nextNonce(from: Address, nonce: number): number
  senders(): readonly Address[]
  of(from: Address): readonly SimTransaction[]
  /**
   * Keeps transactions with those that wait for another, although they could go in: anvil 1.7.1 does so under load, with
   * one that comes while the one before it is being put into a block. The same bytes are known, and free nothing;
   * what replaces them is a transaction like any other.
   */
  strand(picked: (tx: SimTransaction) => boolean): void
  /** Keeps and counts them, and offers them to no block: others pay more. */
  passOver(picked: (tx: SimTransaction) => boolean): void
  /** Lets them go again. */
  unstrand(picked: (tx: SimTransaction) => boolean): void
  /** Takes transactions out silently. Answers with what went. */
  evict(picked: (tx: SimTransaction) => boolean): readonly SimTransaction[]
  /** A new head, with these transactions in its block: forgets what it used up or made unaffordable. */
  onBlock(hashes: readonly Hash[], state: State, baseFeeWei: bigint): void
  /** While true the pool is full: nobody holds more than the guaranteed slots. */
  setPressure(full: boolean, state: State): void
  /** Executable transactions of an account that it keeps from now on. */
  setExecutableMax(count: number): void
  /** The least tip that it takes from now on. */
  setTipMin(wei: bigint): void
  /** How often a transaction was counted only a moment after its answer. */
  readonly lags: number
  /** Changes with every change of the contents. */
  readonly version: number
  readonly size: number
}

/**
 * A mempool after reth's crates/transaction-pool, with limits and rules that other clients have. geth's own is
 * `gethPool.ts`.
 */
export function createPool(options: PoolOptions): Pool {
  const { gappedMax = 64, guaranteedSlots = 16, delegatedMax } = options
  const { nonceAheadMax = Number.POSITIVE_INFINITY, priceAt } = options
  let { executableMax = Number.POSITIVE_INFINITY } = options
  const senders = new Map<Address, Map<number, SimTransaction>>()
  const hashes = new Map<Hash, SimTransaction>()
  const stranded = new Set<Hash>()
  const passedOver = new Set<Hash>()
  let version = 0
  let full = false
  let { tipWeiMin } = options

  function put(tx: SimTransaction): void {
    let own = senders.get(tx.from)
    if (own === undefined) {
      own = new Map()
      senders.set(tx.from, own)
    }
    const old = own.get(tx.nonce)
    if (old !== undefined) forget(old.hash)
    own.set(tx.nonce, tx)
    hashes.set(tx.hash, tx)
    version++
  }

  function forget(hash: Hash): boolean {
    stranded.delete(hash)
    passedOver.delete(hash)
    return hashes.delete(hash)
  }

  function drop(tx: SimTransaction): void {
    if (!forget(tx.hash)) return
    senders.get(tx.from)?.delete(tx.nonce)
    version++
  }

  function nextNonce(from: Address, nonce: number): number {
    const own = senders.get(from)
    let next = nonce
    for (let tx = own?.get(next); tx !== undefined && !stranded.has(tx.hash); tx = own?.get(next)) next++
    return next
  }

  /** What is gapped beyond the limit goes, the highest nonces first; so does what a full pool has no room for. */
  function truncate(from: Address, nonce: number): void {
    const own = senders.get(from)
    if (own === undefined || (own.size <= Math.min(gappedMax, executableMax) && !full)) return
    const next = nextNonce(from, nonce)
    const gapped = [...own.values()].filter((tx) => tx.nonce >= next).sort((a, b) => a.nonce - b.nonce)
    for (const tx of gapped.slice(gappedMax)) drop(tx)
    const most = Math.min(full ? guaranteedSlots : Number.POSITIVE_INFINITY, executableMax)
    for (const tx of [...own.values()]) if (tx.nonce < next && tx.nonce >= nonce + most) drop(tx)
  }

  function refuseDelegated(tx: SimTransaction, state: State): Refusal | undefined {
    if (!state.code.get(tx.from)?.startsWith('0xef0100')) return undefined
    const { nonce } = accountIn(state, tx.from)
    const own = senders.get(tx.from)
    if (own?.has(tx.nonce)) return undefined
    if (tx.nonce > nextNonce(tx.from, nonce)) return refusal('gapped-nonce tx from delegated accounts')
    // What is gapped was taken before the account delegated itself, and is not in flight.
    if (nextNonce(tx.from, nonce) - nonce < delegatedMax) return undefined
    return refusal('in-flight transaction limit reached for delegated accounts')
  }

  const replaces = (tx: SimTransaction, old: SimTransaction) =>
    priceAt === undefined ? outbids(tx, old) : outbidsByPrice(tx, old, priceAt())

  function add(tx: SimTransaction, state: State): Admission {
    if (hashes.has(tx.hash)) return { ok: false, ...refusal('already known') }
    const account = accountIn(state, tx.from)
    const old = senders.get(tx.from)?.get(tx.nonce)
    const refused =
      refuseBytes(tx, { ...options, tipWeiMin }) ??
      refuseAccount(tx, account) ??
      refuseDelegated(tx, state) ??
      refuseDistant(tx, account, nonceAheadMax) ??
      (old !== undefined && !replaces(tx, old)
        ? refusal('replacement transaction underpriced')
        : undefined) ??
      (full && old === undefined && tx.nonce >= account.nonce + guaranteedSlots ? poolFull : undefined)
    if (refused !== undefined) return { ok: false, ...refused }
    put(tx)
    truncate(tx.from, account.nonce)
    return { ok: true }
  }

  return {
    add,
    restore(txs) {
      for (const tx of txs) {
        const rival = senders.get(tx.from)?.get(tx.nonce)
        if (rival === undefined || tx.maxFeeWei > rival.maxFeeWei) put(tx)
      }
    },
    get: (from, nonce) => senders.get(from)?.get(nonce),
    has: (hash) => hashes.has(hash),
    remove(hash) {
      const tx = hashes.get(hash)
      if (tx !== undefined) drop(tx)
    },
    settle() {},
    executable(from, nonce) {
      const own = senders.get(from)
      const found: SimTransaction[] = []
      for (let tx = own?.get(nonce); tx !== undefined; tx = own?.get(tx.nonce + 1 + tx.authorizations)) {
        if (stranded.has(tx.hash) || passedOver.has(tx.hash)) break
        found.push(tx)
      }
      return found
    },
    nextNonce,
    senders: () => [...senders.keys()],
    of: (from) => [...(senders.get(from)?.values() ?? [])].sort((a, b) => a.nonce - b.nonce),
    strand(picked) {
      for (const tx of hashes.values()) if (picked(tx)) stranded.add(tx.hash)
      version++
    },
    passOver(picked) {
      for (const tx of hashes.values()) if (picked(tx)) passedOver.add(tx.hash)
      version++
    },
    unstrand(picked) {
      for (const tx of hashes.values()) if (picked(tx)) stranded.delete(tx.hash)
      version++
    },
    evict(picked) {
      const gone = [...hashes.values()].filter(picked)
      gone.forEach(drop)
      return gone
    },
    onBlock(included, state) {
      for (const hash of included) {
        const tx = hashes.get(hash)
        if (tx !== undefined) drop(tx)
      }
      for (const [from, own] of senders) {
        if (own.size === 0) continue
        const account = accountIn(state, from)
        // What the balance cannot pay for is parked.
        for (const tx of [...own.values()]) if (tx.nonce < account.nonce) drop(tx)
        truncate(from, account.nonce)
      }
    },
    setPressure(next, state) {
      full = next
      for (const from of senders.keys()) truncate(from, accountIn(state, from).nonce)
    },
    setExecutableMax(count) {
      executableMax = count
    },
    setTipMin(wei) {
      tipWeiMin = wei
    },
    lags: 0,
    get version() {
      return version
    },
    get size() {
      return hashes.size
    },
  }
}
