import type { Hash } from 'viem'
import { systemClock } from '../clock.js'
import { TxlaneError } from '../errors/base.js'
import type { Slot } from '../ledger/slot.js'
import { hasEnded } from './ended.js'
import { arrivalsPage, arrivedUpTo, type ListPlace, listCursor, listPlace } from './page.js'
import {
  type ChainKey,
  chainName,
  type LaneKey,
  type Lease,
  laneName,
  type Store,
  type StoredTransaction,
  type Wish,
} from './store.js'

type Kept = {
  readonly key: LaneKey
  epoch: number
  holder: string | undefined
  untilMs: number
  cursor: number | undefined
  sequence: number
  revision: number
  wishes: { readonly sequence: number; readonly id: string; readonly wish: Wish }[]
  readonly slots: Map<number, Slot>
  /** Names of transactions in the order of arrival; of those forgotten too. */
  arrived: { readonly sequence: number; readonly name: string }[]
  readonly watchers: Set<(sequence: number) => void>
}

type KeptTransaction = { readonly transaction: StoredTransaction; readonly revision: number }

const ARRIVED_SPARE = 1_000

export type MemoryStoreOptions = {
  /** Ended transactions beyond so many are forgotten, oldest first. @default 100,000 */
  historyMax?: number
  /** The clock of leases, in milliseconds. @default the machine’s */
  now?: () => number
}

/** Keeps everything in this process: P2 to P5 hold within one process life, and nothing survives it. */
export function memoryStore(options: MemoryStoreOptions = {}): Store {
  const { historyMax = 100_000, now = systemClock.now } = options
  const lanes = new Map<string, Kept>()
  // Insertion order is age: the first ended one is the first to be forgotten.
  const transactions = new Map<string, KeptTransaction>()
  const byHash = new Map<string, string>()
  // Bumps and rebindings give a transaction many hashes; all of them go when it goes.
  const hashesOf = new Map<string, Set<string>>()
  const ended = new Set<string>()

  const txName = (chain: ChainKey, id: string) => `${chainName(chain)}/${id}`

  function kept(lane: LaneKey): Kept {
    const name = laneName(lane)
    const found = lanes.get(name)
    if (found) return found
    const fresh: Kept = {
      key: lane,
      epoch: 0,
      holder: undefined,
      untilMs: 0,
      cursor: undefined,
      sequence: 0,
      revision: 0,
      wishes: [],
      slots: new Map(),
      arrived: [],
      watchers: new Set(),
    }
    lanes.set(name, fresh)
    return fresh
  }

  function checked(lease: Lease): Kept {
    const lane = kept(lease.lane)
    if (lane.epoch === lease.epoch && lane.holder === lease.holder) return lane
    throw new TxlaneError('The lane has another holder.', { code: 'LEASE_LOST', fate: 'inFlight' })
  }

  function keepTransaction(lane: Kept, transaction: StoredTransaction): void {
    const name = txName(transaction.lane, transaction.id)
    transactions.set(name, { transaction, revision: ++lane.revision })
    if (transaction.hash) keepHash(transaction.lane, transaction.hash, name)
    if (hasEnded(transaction.stage)) ended.add(name)
    else ended.delete(name)
    for (const oldest of ended) {
      if (ended.size <= historyMax) break
      forget(oldest)
    }
  }

  function keepHash(lane: LaneKey, hash: Hash, name: string): void {
    // The slot of a transaction that is forgotten already may be written once more.
    if (!transactions.has(name)) return
    const hashName = `${chainName(lane)}/${hash}`
    byHash.set(hashName, name)
    const hashes = hashesOf.get(name) ?? new Set()
    hashesOf.set(name, hashes.add(hashName))
  }

  function forget(name: string): void {
    for (const hashName of hashesOf.get(name) ?? []) byHash.delete(hashName)
    hashesOf.delete(name)
    transactions.delete(name)
    ended.delete(name)
  }

  function keepSlot(lane: Kept, transactionLane: LaneKey, slot: Slot): void {
    const gone = slot.state === 'final' || (slot.state === 'hole' && slot.attempts.length === 0)
    if (gone) lane.slots.delete(slot.nonce)
    else lane.slots.set(slot.nonce, slot)
    for (const attempt of slot.attempts) {
      if (attempt.claim === undefined) continue
      keepHash(transactionLane, attempt.hash, txName(transactionLane, attempt.claim))
    }
  }

  function arrive(lane: Kept, { lane: key, id, sequence }: StoredTransaction): void {
    lane.arrived.push({ sequence, name: txName(key, id) })
    // Bounded with what is remembered: those that were forgotten go, many at a time.
    if (lane.arrived.length > 2 * transactions.size + ARRIVED_SPARE)
      lane.arrived = lane.arrived.filter(({ name }) => transactions.has(name))
  }

  function told(lane: Kept): void {
    for (const watcher of lane.watchers) watcher(lane.sequence)
  }

  function inLane(lane: LaneKey): KeptTransaction[] {
    const name = laneName(lane)
    return [...transactions.values()].filter(({ transaction }) => laneName(transaction.lane) === name)
  }

  return {
    kind: 'memory',
    durable: false,
    async acquire(lane, holder, ttlMs) {
      const state = kept(lane)
      if (state.holder !== holder) {
        if (state.holder !== undefined && state.untilMs > now()) return undefined
        state.epoch++
        state.holder = holder
      }
      state.untilMs = now() + ttlMs
      return { lane, epoch: state.epoch, holder }
    },
    async renew(holder, ttlMs) {
      const leases: Lease[] = []
      for (const state of lanes.values()) {
        if (state.holder !== holder) continue
        state.untilMs = now() + ttlMs
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
      for (const transaction of change.transactions) keepTransaction(lane, transaction)
      for (const slot of change.slots) keepSlot(lane, lease.lane, slot)
      lane.cursor = Math.max(lane.cursor ?? 0, change.cursor)
      const { wished = 0 } = change
      if (wished > 0) lane.wishes = lane.wishes.filter(({ sequence }) => sequence > wished)
      told(lane)
    },
    async enqueue(added) {
      return added.map((transaction) => {
        const existing = transactions.get(txName(transaction.lane, transaction.id))
        if (existing) return { fresh: false, transaction: existing.transaction }
        const lane = kept(transaction.lane)
        const placed = { ...transaction, sequence: ++lane.sequence }
        keepTransaction(lane, placed)
        arrive(lane, placed)
        told(lane)
        return { fresh: true, transaction: placed }
      })
    },
    async wish(chain, id, wish) {
      const found = transactions.get(txName(chain, id))
      if (found === undefined || hasEnded(found.transaction.stage)) return false
      const lane = kept(found.transaction.lane)
      lane.wishes.push({ sequence: ++lane.sequence, id, wish })
      told(lane)
      return true
    },
    async arrivals(lane, after, limit) {
      const { arrived, wishes } = kept(lane)
      let first = arrived.length
      while (first > 0 && (arrived[first - 1]?.sequence ?? 0) > after) first--
      const names = arrived.slice(first, first + limit)
      const page = {
        transactions: names.flatMap(({ name }) => transactions.get(name)?.transaction ?? []),
        wishes: wishes.filter(({ sequence }) => sequence > after),
      }
      return arrivalsPage(page, limit)
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
      const name = 'id' in by ? txName(chain, by.id) : byHash.get(`${chainName(chain)}/${by.hash}`)
      return name === undefined ? undefined : transactions.get(name)?.transaction
    },
    async list(lane, { stage, limit, cursor }) {
      const last = cursor === undefined ? undefined : listPlace(cursor)
      const items = inLane(lane)
        .map(({ transaction }) => transaction)
        .filter((one) => stage === undefined || one.stage === stage)
        .filter((one) => last === undefined || newestFirst(last, one) < 0)
        .sort(newestFirst)
      const page = items.slice(0, limit)
      const end = page.at(-1)
      return items.length > limit && end ? { items: page, cursor: listCursor(end) } : { items: page }
    },
    async close() {},
  }
}

function newestFirst(a: ListPlace, b: ListPlace): number {
  if (a.sequence !== b.sequence) return b.sequence - a.sequence
  return a.id === b.id ? 0 : a.id < b.id ? 1 : -1
}
