import type { Hash } from 'viem'
import { type Slot, withLast } from '../ledger/slot.js'
import type { ChainKey, Enqueued, StoredTransaction } from '../types/store.js'
import { hasEnded, isGone, mayRestart } from './ended.js'
import {
  type Book,
  type KeptTransaction,
  type MemoryLane,
  type MemoryLanes,
  notifyWatchers,
} from './memoryLanes.js'

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
    // Its slot may have added this hash first.
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
