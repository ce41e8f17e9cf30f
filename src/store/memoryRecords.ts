import type { Hash } from 'viem'
import { NonceMap } from '../ledger/nonceMap.js'
import { type Slot, withLast } from '../ledger/slot.js'
import type { LaneReport } from '../types/laneReports.js'
import {
  type ChainKey,
  chainName,
  type Enqueued,
  type LaneCommand,
  type LaneKey,
  type Lease,
  laneName,
  type StoredTransaction,
} from '../types/store.js'
import { hasEnded, isGone, mayRestart } from './ended.js'
import { laneLost } from './leaseLost.js'
import { isOwner, type LeaseState } from './leaseTime.js'

/** Changes the transactions and slots of a memory store. */
export type MemoryRecords = {
  /** Stores a transaction of the lane, unless it was handed off to another lane, or restarted. */
  put(lane: MemoryLane, transaction: StoredTransaction): void
  /** Hands a transaction of this lane off to the lane that it names. Only once: a late write finds it gone. */
  hand(from: MemoryLane, transaction: StoredTransaction): void
  putSlot(lane: MemoryLane, slot: Slot): void
  enqueue(transaction: StoredTransaction): Enqueued
  restart(transaction: StoredTransaction, before: StoredTransaction): Enqueued
}

const NO_HASHES: readonly Hash[] = []

/** `deleted` is called with each ended transaction that is deleted because `historyMax` newer ones have ended. */
export function createMemoryRecords(
  lanes: MemoryLanes,
  historyMax: number,
  deleted: (chain: ChainKey, id: string) => void,
): MemoryRecords {
  // Insertion order is age: the first one is deleted first.
  const ended = new Set<KeptTransaction>()

  function put(lane: MemoryLane, transaction: StoredTransaction): KeptTransaction | undefined {
    const { book } = lane
    const one: KeptTransaction = book.byId.get(transaction.id) ?? {
      transaction,
      arrival: transaction.sequence,
      revision: 0,
      otherHashes: NO_HASHES,
    }
    const { lane: home, hash: before } = one.transaction
    // The transaction was handed off to another lane, or restarted.
    if (home.address !== lane.key.address || one.transaction.sequence > transaction.sequence) return undefined
    one.transaction = transaction
    one.revision = ++lane.revision
    book.byId.set(transaction.id, one)
    if (before !== undefined && before !== transaction.hash) putHash(book, before, one)
    if (transaction.hash) putHash(book, transaction.hash, one)
    // The slot of the transaction may have added this hash first.
    const { otherHashes } = one
    if (otherHashes.length === 1 && otherHashes[0] === transaction.hash) one.otherHashes = NO_HASHES
    if (hasEnded(transaction.stage)) ended.add(one)
    else ended.delete(one)
    for (const oldest of ended) {
      if (ended.size <= historyMax) break
      remove(oldest)
    }
    return one
  }

  function remove(one: KeptTransaction): void {
    const { id, hash, lane } = one.transaction
    const home = lanes.of(lane)
    const { byId, byHash } = home.book
    for (const own of one.otherHashes) byHash.delete(own)
    if (hash) byHash.delete(hash)
    byId.delete(id)
    leave(home, one)
    ended.delete(one)
    deleted(lane, id)
  }

  function enqueue(transaction: StoredTransaction): Enqueued {
    const lane = lanes.of(transaction.lane)
    const existing = lane.book.byId.get(transaction.id)
    if (existing) return { fresh: false, transaction: existing.transaction }
    const sequence = ++lane.sequence
    const placed = transaction.sequence === sequence ? transaction : { ...transaction, sequence }
    const one = put(lane, placed)
    if (one) lane.arrived.set(sequence, one)
    notifyWatchers(lane)
    return { fresh: true, transaction: placed }
  }

  return {
    put,
    hand(from, transaction) {
      const one = from.book.byId.get(transaction.id)
      const { lane, stage } = one?.transaction ?? {}
      if (one === undefined || lane?.address !== from.key.address || stage !== 'queued') return
      const to = lanes.of(transaction.lane)
      leave(from, one)
      one.transaction = { ...transaction, sequence: ++to.sequence }
      one.revision = ++to.revision
      to.arrived.set(to.sequence, one)
      notifyWatchers(to)
    },
    putSlot({ slots, book }, slot) {
      if (isGone(slot)) slots.delete(slot.nonce)
      else slots.set(slot.nonce, slot)
      for (const { claim, hash } of slot.attempts) {
        // The slot of a deleted transaction may be written once more.
        const one = claim === undefined ? undefined : book.byId.get(claim)
        if (one) putHash(book, hash, one)
      }
    },
    enqueue,
    restart(transaction, before) {
      const { book } = lanes.of(transaction.lane)
      const one = book.byId.get(transaction.id)
      if (one === undefined) return enqueue(transaction)
      const { lane: home, sequence, stage } = one.transaction
      const isSame = home.address === before.lane.address && sequence === before.sequence
      if (!isSame || !mayRestart(stage)) return { fresh: false, transaction: one.transaction }
      const from = lanes.of(home)
      leave(from, one)
      from.commands = from.commands.filter(({ id }) => id !== transaction.id)
      const hashes = one.transaction.hash ? [...one.otherHashes, one.transaction.hash] : one.otherHashes
      book.byId.delete(transaction.id)
      ended.delete(one)
      const answer = enqueue(transaction)
      for (const hash of hashes) putHash(book, hash, book.byId.get(transaction.id) as KeptTransaction)
      return answer
    },
  }
}

function putHash(book: Book, hash: Hash, one: KeptTransaction): void {
  book.byHash.set(hash, one)
  if (hash !== one.transaction.hash && !one.otherHashes.includes(hash))
    one.otherHashes = withLast(one.otherHashes, hash)
}

function leave({ arrived }: MemoryLane, one: KeptTransaction): void {
  const { sequence } = one.transaction
  if (arrived.get(sequence) === one) arrived.delete(sequence)
}

export type KeptTransaction = {
  transaction: StoredTransaction
  /** The position of the transaction in the order of arrival of its first lane. */
  readonly arrival: number
  revision: number
  /** Hashes besides the newest one, from bumps and rebindings. They are deleted with the transaction. */
  otherHashes: readonly Hash[]
}

/** The transactions of a chain. Ids and hashes are unique per chain. */
type Book = {
  readonly byId: Map<string, KeptTransaction>
  readonly byHash: Map<Hash, KeptTransaction>
}

export type MemoryLane = LeaseState & {
  readonly key: LaneKey
  readonly book: Book
  /** The last report, and the epoch in which it was made. */
  report: { readonly epoch: number; readonly of: LaneReport } | undefined
  cursor: number | undefined
  sequence: number
  revision: number
  commands: { readonly sequence: number; readonly id: string; readonly command: LaneCommand }[]
  readonly slots: NonceMap<Slot>
  /** The transactions by their position in the order of arrival. */
  readonly arrived: NonceMap<KeptTransaction>
  readonly watchers: Set<(sequence: number) => void>
}

/** The lanes of a memory store, and the chains that they are on. */
export type MemoryLanes = {
  /** The lane with this key; a new one on the first use. */
  of(key: LaneKey): MemoryLane
  /** The lane with this name; undefined if it was never used. */
  named(name: string): MemoryLane | undefined
  all(): Iterable<MemoryLane>
  bookOf(chain: ChainKey): Book
  /** As the method of a store. */
  chains(chain: { readonly chainId: number; readonly genesisHash?: Hash | undefined }): readonly Hash[]
}

export function createMemoryLanes(): MemoryLanes {
  const lanes = new Map<string, MemoryLane>()
  const books = new Map<string, Book>()
  const chains = new Map<number, readonly Hash[]>()
  // A cache: few keys are looked up all the time, so their names are not computed again.
  const known = new WeakMap<LaneKey, MemoryLane>()

  function bookOf(chain: ChainKey): Book {
    const name = chainName(chain)
    const found = books.get(name) ?? { byId: new Map(), byHash: new Map() }
    books.set(name, found)
    return found
  }

  function newLane(key: LaneKey): MemoryLane {
    const { chainId, genesisHash } = key
    const hashes = chains.get(chainId) ?? []
    if (!hashes.includes(genesisHash)) chains.set(chainId, [...hashes, genesisHash])
    return {
      key,
      book: bookOf(key),
      epoch: 0,
      holder: undefined,
      untilMs: 0,
      leaseMs: 0,
      report: undefined,
      cursor: undefined,
      sequence: 0,
      revision: 0,
      commands: [],
      slots: new NonceMap(),
      arrived: new NonceMap(),
      watchers: new Set(),
    }
  }

  return {
    of(key) {
      const same = known.get(key)
      if (same) return same
      const name = laneName(key)
      const found = lanes.get(name) ?? newLane(key)
      lanes.set(name, found)
      known.set(key, found)
      return found
    },
    named: (name) => lanes.get(name),
    all: () => lanes.values(),
    bookOf,
    chains({ chainId, genesisHash }) {
      const found = chains.get(chainId) ?? (genesisHash === undefined ? [] : [genesisHash])
      if (found.length > 0) chains.set(chainId, found)
      return [...found]
    },
  }
}

/** P7. */
export function fencedLane(lanes: MemoryLanes, lease: Lease): MemoryLane {
  const lane = lanes.of(lease.lane)
  if (isOwner(lane, lease)) return lane
  throw laneLost()
}

export function notifyWatchers({ watchers, sequence }: MemoryLane): void {
  for (const watcher of watchers) watcher(sequence)
}

/** The transactions that are in this lane now. */
export function transactionsIn({ book, key }: MemoryLane): KeptTransaction[] {
  return [...book.byId.values()].filter(({ transaction }) => transaction.lane.address === key.address)
}
