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

type PoolOptions = AdmissionLimits & {
  /** The limit on gapped transactions of an account; those above are dropped silently. @default 64 */
  readonly gappedMax?: number
  /** The largest distance of a nonce above the account's. @default any */
  readonly nonceAheadMax?: number
  /** The limit on executable transactions of an account; those above are dropped silently. @default any */
  readonly executableMax?: number
  /**
   * The base fee of the next block, if the effective price decides replacements. @default both fees decide
   */
  readonly priceAt?: (() => bigint) | undefined
  /** Executable transactions that an account may keep when the pool is full. @default 16 */
  readonly guaranteedSlots?: number
  /** In-flight transactions of accounts with delegated code: 1 on reth, 4 on Base. */
  readonly delegatedMax: number
}

export type Admission = { readonly ok: true } | ({ readonly ok: false } & Refusal)

export type Pool = {
  add(tx: SimTransaction, state: State): Admission
  /**
   * Returns transactions that a reorg or a lost flashblock removed from their blocks; the head is an older
   * one.
   */
  restore(txs: readonly SimTransaction[], state: State, baseFeeWei: bigint): void
  get(from: Address, nonce: number): SimTransaction | undefined
  has(hash: Hash): boolean
  remove(hash: Hash): void
  /** Finishes the background work of the pool. */
  settle(): void
  /** The transactions that can follow each other into a block, from the account's nonce on. */
  executable(from: Address, nonce: number): readonly SimTransaction[]
  /** The nonce after the last of these. */
  nextNonce(from: Address, nonce: number): number
  senders(): readonly Address[]
  of(from: Address): readonly SimTransaction[]
  /**
   * Keeps executable transactions as if they were gapped. anvil 1.7.1 does so under load with a transaction
   * that arrives while its predecessor is being included. The same bytes are known, and do not release it; a
   * replacement is a normal transaction.
   */
  strand(picked: (tx: SimTransaction) => boolean): void
  /** Keeps and counts them, but includes them in no block, as if others paid more. */
  passOver(picked: (tx: SimTransaction) => boolean): void
  /** Releases them again. */
  unstrand(picked: (tx: SimTransaction) => boolean): void
  /** Removes transactions silently. Returns them. */
  evict(picked: (tx: SimTransaction) => boolean): readonly SimTransaction[]
  /**
   * A new head, with these transactions in its block: drops used nonces and transactions that became
   * unaffordable.
   */
  onBlock(hashes: readonly Hash[], state: State, baseFeeWei: bigint): void
  /** While true the pool is full: no account has more than its guaranteed slots. */
  setPressure(full: boolean, state: State): void
  /** The number of executable transactions per account that it keeps from now on. */
  setExecutableMax(count: number): void
  /** The lowest tip that it accepts from now on. */
  setTipMin(wei: bigint): void
  /** The number of transactions that were counted only a moment after their answer. */
  readonly lags: number
  /** Changes with every change of the contents. */
  readonly version: number
  readonly size: number
}

/**
 * A mempool modelled on reth's crates/transaction-pool, with limits and rules of further clients. geth's own
 * is `gethPool.ts`.
 */
export function createPool(options: PoolOptions): Pool {
  const { gappedMax = 64, guaranteedSlots = 16, delegatedMax } = options
  const { nonceAheadMax = Number.POSITIVE_INFINITY, priceAt } = options
  let { executableMax = Number.POSITIVE_INFINITY } = options
  const contents = createPoolContents()
  const { put, drop, stranded, passedOver } = contents
  let full = false
  let { tipWeiMin } = options

  const nextNonce = (from: Address, nonce: number) => nextNonceIn(contents, from, nonce)

  /**
   * Drops gapped transactions beyond the limit, the highest nonces first, and those for which a full pool
   * has no room.
   */
  function truncate(from: Address, nonce: number): void {
    const own = contents.of(from)
    if (own === undefined || (own.size <= Math.min(gappedMax, executableMax) && !full)) return
    const next = nextNonce(from, nonce)
    const gapped = [...own.values()].filter((tx) => tx.nonce >= next).sort((a, b) => a.nonce - b.nonce)
    for (const tx of gapped.slice(gappedMax)) drop(tx)
    const most = Math.min(full ? guaranteedSlots : Number.POSITIVE_INFINITY, executableMax)
    for (const tx of [...own.values()]) if (tx.nonce < next && tx.nonce >= nonce + most) drop(tx)
  }

  const replaces = (tx: SimTransaction, old: SimTransaction) =>
    priceAt === undefined ? outbids(tx, old) : outbidsByPrice(tx, old, priceAt())

  function add(tx: SimTransaction, state: State): Admission {
    if (contents.get(tx.hash) !== undefined) return { ok: false, ...refusal('already known') }
    const account = accountIn(state, tx.from)
    const old = contents.of(tx.from)?.get(tx.nonce)
    const refused =
      refuseBytes(tx, { ...options, tipWeiMin }) ??
      refuseAccount(tx, account) ??
      refuseDelegated(tx, state, contents, delegatedMax) ??
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
        const rival = contents.of(tx.from)?.get(tx.nonce)
        if (rival === undefined || tx.maxFeeWei > rival.maxFeeWei) put(tx)
      }
    },
    get: (from, nonce) => contents.of(from)?.get(nonce),
    has: (hash) => contents.get(hash) !== undefined,
    remove(hash) {
      const tx = contents.get(hash)
      if (tx !== undefined) drop(tx)
    },
    settle() {},
    executable(from, nonce) {
      const own = contents.of(from)
      const found: SimTransaction[] = []
      for (let tx = own?.get(nonce); tx !== undefined; tx = own?.get(tx.nonce + 1 + tx.authorizations)) {
        if (stranded.has(tx) || passedOver.has(tx)) break
        found.push(tx)
      }
      return found
    },
    nextNonce,
    senders: () => [...contents.senders()],
    of: (from) => [...(contents.of(from)?.values() ?? [])].sort((a, b) => a.nonce - b.nonce),
    strand: stranded.set,
    passOver: passedOver.set,
    unstrand: stranded.clear,
    evict(picked) {
      const gone = [...contents.all()].filter(picked)
      gone.forEach(drop)
      return gone
    },
    onBlock(included, state) {
      for (const hash of included) {
        const tx = contents.get(hash)
        if (tx !== undefined) drop(tx)
      }
      for (const from of contents.senders()) {
        const own = contents.of(from)
        if (own === undefined || own.size === 0) continue
        const account = accountIn(state, from)
        // A transaction that the balance cannot pay is parked, not dropped.
        for (const tx of [...own.values()]) if (tx.nonce < account.nonce) drop(tx)
        truncate(from, account.nonce)
      }
    },
    setPressure(next, state) {
      full = next
      for (const from of contents.senders()) truncate(from, accountIn(state, from).nonce)
    },
    setExecutableMax(count) {
      executableMax = count
    },
    setTipMin(wei) {
      tipWeiMin = wei
    },
    lags: 0,
    get version() {
      return contents.version
    },
    get size() {
      return contents.size
    },
  }
}

function nextNonceIn({ of, stranded }: PoolContents, from: Address, nonce: number): number {
  const own = of(from)
  let next = nonce
  for (let tx = own?.get(next); tx !== undefined && !stranded.has(tx); tx = own?.get(next)) next++
  return next
}

function refuseDelegated(
  tx: SimTransaction,
  state: State,
  contents: PoolContents,
  delegatedMax: number,
): Refusal | undefined {
  if (!state.code.get(tx.from)?.startsWith('0xef0100')) return undefined
  const { nonce } = accountIn(state, tx.from)
  if (contents.of(tx.from)?.has(tx.nonce)) return undefined
  const next = nextNonceIn(contents, tx.from, nonce)
  if (tx.nonce > next) return refusal('gapped-nonce tx from delegated accounts')
  // A gapped transaction was admitted before the account delegated itself, and is not in flight.
  if (next - nonce < delegatedMax) return undefined
  return refusal('in-flight transaction limit reached for delegated accounts')
}

/** The transactions of a pool, by sender and nonce and by hash. */
type PoolContents = {
  /** The transactions of a sender; undefined if it never had one. */
  of(from: Address): ReadonlyMap<number, SimTransaction> | undefined
  senders(): IterableIterator<Address>
  get(hash: Hash): SimTransaction | undefined
  all(): IterableIterator<SimTransaction>
  /** Adds a transaction, in place of the one with its nonce. */
  put(tx: SimTransaction): void
  drop(tx: SimTransaction): void
  /** Transactions that are known but treated as gapped. */
  readonly stranded: Mark
  /** Transactions that are counted but included in no block. */
  readonly passedOver: Mark
  readonly version: number
  readonly size: number
}

/** A set of pooled transactions. A transaction that leaves the pool loses its marks. */
type Mark = {
  has(tx: SimTransaction): boolean
  set(picked: (tx: SimTransaction) => boolean): void
  clear(picked: (tx: SimTransaction) => boolean): void
}

function createPoolContents(): PoolContents {
  const senders = new Map<Address, Map<number, SimTransaction>>()
  const hashes = new Map<Hash, SimTransaction>()
  const stranded = new Set<Hash>()
  const passedOver = new Set<Hash>()
  let version = 0

  function forget(hash: Hash): boolean {
    stranded.delete(hash)
    passedOver.delete(hash)
    return hashes.delete(hash)
  }

  const markOf = (marked: Set<Hash>): Mark => ({
    has: ({ hash }) => marked.has(hash),
    set(picked) {
      for (const tx of hashes.values()) if (picked(tx)) marked.add(tx.hash)
      version++
    },
    clear(picked) {
      for (const tx of hashes.values()) if (picked(tx)) marked.delete(tx.hash)
      version++
    },
  })

  return {
    of: (from) => senders.get(from),
    senders: () => senders.keys(),
    get: (hash) => hashes.get(hash),
    all: () => hashes.values(),
    put(tx) {
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
    },
    drop(tx) {
      if (!forget(tx.hash)) return
      senders.get(tx.from)?.delete(tx.nonce)
      version++
    },
    stranded: markOf(stranded),
    passedOver: markOf(passedOver),
    get version() {
      return version
    },
    get size() {
      return hashes.size
    },
  }
}
