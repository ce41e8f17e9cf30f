import type { Hash } from 'viem'
import { TxlaneError } from '../errors/base.js'
import { checkNames, type Names } from '../errors/checkNames.js'
import { NonceMap } from '../ledger/nonceMap.js'
import { type Slot, withLast } from '../ledger/slot.js'
import { systemClock } from '../platform/clock.js'
import {
  type ChainKey,
  chainName,
  type Enqueued,
  type LaneKey,
  type LaneReport,
  type Lease,
  laneName,
  type Store,
  type StoredTransaction,
  type Wish,
} from '../types/store.js'
import { hasEnded, mayRestart, UNSEALED } from './ended.js'
import { isHeld, type LeaseState, takeLease } from './leaseTime.js'
import { createMemoryOutboxes } from './memoryOutbox.js'
import { arrivalsPage, arrivedUpTo, type ListPlace, listBounds, listPage, newestFirst } from './page.js'

type KeptTransaction = {
  transaction: StoredTransaction
  /** Its place in the order of arrival of the lane that it came into. */
  readonly arrival: number
  revision: number
  /** Bumps and rebindings give it more than its newest hash; all of them go when it goes. */
  otherHashes: readonly Hash[]
}

/** The transactions of a chain, which have their ids and hashes to themselves. */
type Book = { readonly byId: Map<string, KeptTransaction>; readonly byHash: Map<Hash, KeptTransaction> }

type Kept = LeaseState & {
  readonly key: LaneKey
  readonly book: Book
  /** What was said in which epoch. */
  report: { readonly epoch: number; readonly of: LaneReport } | undefined
  cursor: number | undefined
  sequence: number
  revision: number
  wishes: { readonly sequence: number; readonly id: string; readonly wish: Wish }[]
  readonly slots: NonceMap<Slot>
  /** By their places in the order of arrival. */
  readonly arrived: NonceMap<KeptTransaction>
  readonly watchers: Set<(sequence: number) => void>
}

const NO_HASHES: readonly Hash[] = []

export type MemoryStoreOptions = {
  /** Ended transactions beyond so many are forgotten, oldest first. @default 100,000 */
  historyMax?: number
  /** The clock of leases, in milliseconds. It may step. @default one of this process, which does not */
  now?: () => number
}

/** Keeps everything in this process: P2 to P5 hold within one process life, and nothing survives it. */
export function memoryStore(options: MemoryStoreOptions = {}): Store {
  checkNames('options', options, { historyMax: true, now: true } satisfies Names<MemoryStoreOptions>)
  const { historyMax = 100_000, now = systemClock.now } = options
  const lanes = new Map<string, Kept>()
  const books = new Map<string, Book>()
  const chains = new Map<number, Hash[]>()
  // The same few keys are asked for all the time: their names are not made anew.
  const known = new WeakMap<LaneKey, Kept>()
  // Insertion order is age: the first ended one is the first to be forgotten.
  const ended = new Set<KeptTransaction>()
  const outboxes = createMemoryOutboxes({
    now,
    lanes: () => lanes.values(),
    isKept: (chain, id) => bookOf(chain).byId.has(id),
  })

  function bookOf(chain: ChainKey): Book {
    const name = chainName(chain)
    const found = books.get(name) ?? { byId: new Map(), byHash: new Map() }
    books.set(name, found)
    return found
  }

  function kept(lane: LaneKey): Kept {
    const same = known.get(lane)
    if (same) return same
    const name = laneName(lane)
    const found = lanes.get(name) ?? newLane(lane)
    lanes.set(name, found)
    known.set(lane, found)
    return found
  }

  function newLane(lane: LaneKey): Kept {
    const { chainId, genesisHash } = lane
    const known = chains.get(chainId) ?? []
    if (!known.includes(genesisHash)) chains.set(chainId, [...known, genesisHash])
    return {
      key: lane,
      book: bookOf(lane),
      epoch: 0,
      holder: undefined,
      untilMs: 0,
      leaseMs: 0,
      report: undefined,
      cursor: undefined,
      sequence: 0,
      revision: 0,
      wishes: [],
      slots: new NonceMap(),
      arrived: new NonceMap(),
      watchers: new Set(),
    }
  }

  function checked(lease: Lease): Kept {
    const lane = kept(lease.lane)
    if (lane.epoch === lease.epoch && lane.holder === lease.holder) return lane
    throw new TxlaneError('The lane has another holder.', { code: 'LEASE_LOST', fate: 'inFlight' })
  }

  function keepTransaction(lane: Kept, transaction: StoredTransaction): KeptTransaction | undefined {
    const { book } = lane
    const one: KeptTransaction = book.byId.get(transaction.id) ?? {
      transaction,
      arrival: transaction.sequence,
      revision: 0,
      otherHashes: NO_HASHES,
    }
    const { lane: home, hash: before } = one.transaction
    // It was handed to another lane, or began anew.
    if (home.address !== lane.key.address || one.transaction.sequence > transaction.sequence) return undefined
    one.transaction = transaction
    one.revision = ++lane.revision
    book.byId.set(transaction.id, one)
    if (before !== undefined && before !== transaction.hash) keepHash(book, before, one)
    if (transaction.hash) keepHash(book, transaction.hash, one)
    // Its slot may have named it first.
    const { otherHashes } = one
    if (otherHashes.length === 1 && otherHashes[0] === transaction.hash) one.otherHashes = NO_HASHES
    if (hasEnded(transaction.stage)) ended.add(one)
    else ended.delete(one)
    for (const oldest of ended) {
      if (ended.size <= historyMax) break
      forget(oldest)
    }
    return one
  }

  /** Whoever holds the lane that it is in hands it to another. Once: what comes late finds it gone. */
  function hand(from: Kept, transaction: StoredTransaction): void {
    const one = from.book.byId.get(transaction.id)
    const { lane, stage } = one?.transaction ?? {}
    if (one === undefined || lane?.address !== from.key.address || stage !== 'queued') return
    const to = kept(transaction.lane)
    leave(from, one)
    one.transaction = { ...transaction, sequence: ++to.sequence }
    one.revision = ++to.revision
    to.arrived.set(to.sequence, one)
    told(to)
  }

  function keepHash(book: Book, hash: Hash, one: KeptTransaction): void {
    book.byHash.set(hash, one)
    if (hash !== one.transaction.hash && !one.otherHashes.includes(hash))
      one.otherHashes = withLast(one.otherHashes, hash)
  }

  function forget(one: KeptTransaction): void {
    const { id, hash, lane } = one.transaction
    const home = kept(lane)
    const { byId, byHash } = home.book
    for (const own of one.otherHashes) byHash.delete(own)
    if (hash) byHash.delete(hash)
    byId.delete(id)
    leave(home, one)
    ended.delete(one)
    outboxes.forget(lane, id)
  }

  function leave({ arrived }: Kept, one: KeptTransaction): void {
    const { sequence } = one.transaction
    if (arrived.get(sequence) === one) arrived.delete(sequence)
  }

  function keepSlot(lane: Kept, slot: Slot): void {
    const gone = slot.state === 'final' || (slot.state === 'hole' && slot.attempts.length === 0)
    if (gone) lane.slots.delete(slot.nonce)
    else lane.slots.set(slot.nonce, slot)
    for (const { claim, hash } of slot.attempts) {
      // The slot of a transaction that is forgotten already may be written once more.
      const one = claim === undefined ? undefined : lane.book.byId.get(claim)
      if (one) keepHash(lane.book, hash, one)
    }
  }

  function enqueueOne(transaction: StoredTransaction): Enqueued {
    const lane = kept(transaction.lane)
    const existing = lane.book.byId.get(transaction.id)
    if (existing) return { fresh: false, transaction: existing.transaction }
    const sequence = ++lane.sequence
    const placed = transaction.sequence === sequence ? transaction : { ...transaction, sequence }
    const one = keepTransaction(lane, placed)
    if (one) lane.arrived.set(sequence, one)
    told(lane)
    return { fresh: true, transaction: placed }
  }

  function restart(transaction: StoredTransaction, before: StoredTransaction): Enqueued {
    const lane = kept(transaction.lane)
    const one = lane.book.byId.get(transaction.id)
    if (one === undefined) return enqueueOne(transaction)
    const { lane: home, sequence, stage } = one.transaction
    const isSame = home.address === before.lane.address && sequence === before.sequence
    if (!isSame || !mayRestart(stage)) return { fresh: false, transaction: one.transaction }
    const from = kept(home)
    leave(from, one)
    from.wishes = from.wishes.filter(({ id }) => id !== transaction.id)
    const hashes = one.transaction.hash ? [...one.otherHashes, one.transaction.hash] : one.otherHashes
    lane.book.byId.delete(transaction.id)
    ended.delete(one)
    const answer = enqueueOne(transaction)
    for (const hash of hashes)
      keepHash(lane.book, hash, lane.book.byId.get(transaction.id) as KeptTransaction)
    return answer
  }

  function told(lane: Kept): void {
    for (const watcher of lane.watchers) watcher(lane.sequence)
  }

  function inLane(key: LaneKey): KeptTransaction[] {
    const { byId } = kept(key).book
    return [...byId.values()].filter(({ transaction }) => transaction.lane.address === key.address)
  }

  return {
    kind: 'memory',
    durable: false,
    ...outboxes.verbs,
    async chains({ chainId, genesisHash }) {
      const found = chains.get(chainId) ?? (genesisHash === undefined ? [] : [genesisHash])
      if (found.length > 0) chains.set(chainId, found)
      return [...found]
    },
    async acquire(lane, holder, ttlMs) {
      const state = kept(lane)
      return takeLease(state, holder, ttlMs, now()) ? { lane, epoch: state.epoch, holder } : undefined
    },
    async renew(holder, ttlMs) {
      const leases: Lease[] = []
      for (const state of lanes.values()) {
        if (state.holder !== holder) continue
        state.untilMs = now() + ttlMs
        state.leaseMs = ttlMs
        leases.push({ lane: state.key, epoch: state.epoch, holder })
      }
      return leases
    },
    async release(lease) {
      const state = kept(lease.lane)
      if (state.epoch !== lease.epoch || state.holder !== lease.holder) return
      state.holder = undefined
      told(state)
    },
    async report(reports) {
      for (const { lease, report } of reports) {
        const state = kept(lease.lane)
        if (state.epoch === lease.epoch && state.holder === lease.holder)
          state.report = { epoch: lease.epoch, of: report }
      }
    },
    async reports(of) {
      return of.flatMap((lane) => {
        const state = lanes.get(laneName(lane))
        if (state === undefined) return []
        const { epoch, report } = state
        return [
          { lane, isHeld: isHeld(state, now()), report: report?.epoch === epoch ? report.of : undefined },
        ]
      })
    },
    async unfinished(chain) {
      const counts = new Map<string, number>()
      for (const { transaction } of bookOf(chain).byId.values()) {
        const name = laneName(transaction.lane)
        if (UNSEALED.includes(transaction.stage)) counts.set(name, (counts.get(name) ?? 0) + 1)
      }
      return [...counts].map(([name, transactions]) => {
        const state = lanes.get(name) as Kept
        return { lane: state.key, transactions, isHeld: isHeld(state, now()) }
      })
    },
    async load(lease) {
      const lane = checked(lease)
      const open = inLane(lease.lane)
        .map(({ transaction }) => transaction)
        .filter(({ stage }) => !hasEnded(stage))
        .sort((a, b) => a.sequence - b.sequence)
      return {
        slots: [...lane.slots.values()],
        transactions: open,
        cursor: lane.cursor,
        arrived: arrivedUpTo(lane.sequence, lane.wishes[0]?.sequence),
      }
    },
    async write(lease, change) {
      const lane = checked(lease)
      for (const transaction of change.transactions) {
        if (transaction.lane.address === lease.lane.address) keepTransaction(lane, transaction)
        else hand(lane, transaction)
      }
      for (const slot of change.slots) keepSlot(lane, slot)
      lane.cursor = Math.max(lane.cursor ?? 0, change.cursor)
      const { wished = 0 } = change
      if (wished > 0) lane.wishes = lane.wishes.filter(({ sequence }) => sequence > wished)
      told(lane)
    },
    async enqueue(added) {
      return added.map(enqueueOne)
    },
    restart: async (transaction, before) => restart(transaction, before),
    async wish(chain, id, wish) {
      const found = bookOf(chain).byId.get(id)
      if (found === undefined || hasEnded(found.transaction.stage)) return false
      const lane = kept(found.transaction.lane)
      lane.wishes.push({ sequence: ++lane.sequence, id, wish })
      told(lane)
      return true
    },
    async arrivals(lane, after, limit) {
      const { arrived, wishes } = kept(lane)
      const transactions: StoredTransaction[] = []
      for (const { transaction } of arrived.between(after + 1, Number.POSITIVE_INFINITY)) {
        if (transactions.length === limit) break
        transactions.push(transaction)
      }
      return arrivalsPage({ transactions, wishes: wishes.filter(({ sequence }) => sequence > after) }, limit)
    },
    async changes(lane, revision, limit) {
      if (revision === 'now') return { transactions: [], revision: kept(lane).revision }
      const changed = inLane(lane)
        .filter((one) => one.revision > revision)
        .sort((a, b) => a.revision - b.revision)
        .slice(0, limit)
      return {
        transactions: changed.map(({ transaction }) => transaction),
        revision: changed.at(-1)?.revision ?? revision,
      }
    },
    watch(lane, changed) {
      const { watchers } = kept(lane)
      // Wrapped, so that the same function may watch twice.
      const own = (sequence: number) => changed(sequence)
      watchers.add(own)
      return () => void watchers.delete(own)
    },
    async find(chain, by) {
      const book = bookOf(chain)
      return ('id' in by ? book.byId.get(by.id) : book.byHash.get(by.hash))?.transaction
    },
    async list(of, options) {
      const { stage, group, limit } = options
      const { below, fromMs } = listBounds(options)
      const isOf = ({ transaction: one }: KeptTransaction) =>
        (stage === undefined || one.stage === stage) &&
        (group === undefined || one.group === group) &&
        one.createdAtMs >= fromMs
      const listed = 'chainId' in of ? [...bookOf(of).byId.values()] : of.flatMap(inLane)
      const rows = listed
        .filter(isOf)
        .map((one) => ({ place: placeOf(one), transaction: one.transaction }))
        .filter(({ place }) => newestFirst(below, place) < 0)
        .sort((a, b) => newestFirst(a.place, b.place))
      return listPage(rows, limit, { place: ({ place }) => place, transaction: (row) => row.transaction })
    },
    async close() {},
  }
}

function placeOf({ transaction: { createdAtMs, id }, arrival }: KeptTransaction): ListPlace {
  return { createdAtMs, arrival, id }
}
