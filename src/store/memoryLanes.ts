import type { Hash } from 'viem'
import { NonceMap } from '../ledger/nonceMap.js'
import type { Slot } from '../ledger/slot.js'
import {
  type ChainKey,
  chainName,
  type LaneCommand,
  type LaneKey,
  type LaneReport,
  type Lease,
  laneName,
  type StoredTransaction,
} from '../types/store.js'
import { laneLost } from './leaseLost.js'
import { isOwner, type LeaseState } from './leaseTime.js'

export type KeptTransaction = {
  transaction: StoredTransaction
  /** Its position in the order of arrival of its first lane. */
  readonly arrival: number
  revision: number
  /** Hashes besides the newest one, from bumps and rebindings. They are deleted with the transaction. */
  otherHashes: readonly Hash[]
}

/** The transactions of a chain. Ids and hashes are unique per chain. */
export type Book = {
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
  /** By position in the order of arrival. */
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
