import type { Hash } from 'viem'
import { TxlaneError } from '../errors/base.js'
import type { Slot } from '../ledger/slot.js'
import { type LaneKey, type Lease, laneName, type Store, type StoredTransaction } from './store.js'

type Kept = {
  epoch: number
  holder: string | undefined
  cursor: number | undefined
  readonly slots: Map<number, Slot>
}

const ENDED: ReadonlySet<string> = new Set(['finalized', 'failed', 'cancelled', 'superseded'])

/**
 * Keeps everything in this process: P2 to P5 hold within one process life, and nothing survives it. Ended
 * transactions are forgotten, oldest first, beyond `historyMax` of them (by default 100,000).
 */
export function memoryStore(options: { historyMax?: number } = {}): Store {
  const historyMax = options.historyMax ?? 100_000
  const lanes = new Map<string, Kept>()
  // Insertion order is age: the first ended one is the first to be forgotten.
  const transactions = new Map<string, StoredTransaction>()
  const byHash = new Map<string, string>()
  // Bumps and rebindings give a transaction many hashes; all of them go when it goes.
  const hashesOf = new Map<string, Set<string>>()
  const ended = new Set<string>()

  const chainName = (chain: { chainId: number; genesisHash: Hash }) => `${chain.chainId}:${chain.genesisHash}`
  const txName = (chain: { chainId: number; genesisHash: Hash }, id: string) => `${chainName(chain)}/${id}`

  function kept(lane: LaneKey): Kept {
    const name = laneName(lane)
    const found = lanes.get(name)
    if (found) return found
    const fresh: Kept = { epoch: 0, holder: undefined, cursor: undefined, slots: new Map() }
    lanes.set(name, fresh)
    return fresh
  }

  function checked(lease: Lease): Kept {
    const lane = kept(lease.lane)
    if (lane.epoch === lease.epoch && lane.holder === lease.holder) return lane
    throw new TxlaneError('The lane has another holder.', { code: 'LEASE_LOST', fate: 'inFlight' })
  }

  function keepTransaction(transaction: StoredTransaction): void {
    const name = txName(transaction.lane, transaction.id)
    transactions.set(name, transaction)
    if (transaction.hash) keepHash(transaction.lane, transaction.hash, name)
    if (ENDED.has(transaction.stage)) ended.add(name)
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

  return {
    kind: 'memory',
    durable: false,
    async acquire(lane, holder) {
      const state = kept(lane)
      if (state.holder !== undefined && state.holder !== holder) {
        throw new TxlaneError('The lane has another holder.', { code: 'LEASE_LOST', fate: 'notExecuted' })
      }
      if (state.holder === undefined) state.epoch++
      state.holder = holder
      return { lane, epoch: state.epoch, holder }
    },
    async release(lease) {
      const state = kept(lease.lane)
      if (state.epoch === lease.epoch && state.holder === lease.holder) state.holder = undefined
    },
    async load(lease) {
      const lane = checked(lease)
      const name = laneName(lease.lane)
      const open = [...transactions.values()].filter((t) => laneName(t.lane) === name && !ENDED.has(t.stage))
      return { slots: [...lane.slots.values()], transactions: open, cursor: lane.cursor }
    },
    async enqueue(transaction) {
      const existing = transactions.get(txName(transaction.lane, transaction.id))
      if (existing === undefined) keepTransaction(transaction)
      return existing
    },
    async write(lease, change) {
      const lane = checked(lease)
      for (const transaction of change.transactions) keepTransaction(transaction)
      for (const slot of change.slots) keepSlot(lane, lease.lane, slot)
      lane.cursor = Math.max(lane.cursor ?? 0, change.cursor)
    },
    async find(chain, by) {
      const name = 'id' in by ? txName(chain, by.id) : byHash.get(`${chainName(chain)}/${by.hash}`)
      return name === undefined ? undefined : transactions.get(name)
    },
    async list(lane, { stage, limit, cursor }) {
      const name = laneName(lane)
      const before = cursor === undefined ? Number.POSITIVE_INFINITY : Number(cursor)
      const items = [...transactions.values()]
        .filter(
          (t) =>
            laneName(t.lane) === name && t.sequence < before && (stage === undefined || t.stage === stage),
        )
        .sort((a, b) => b.sequence - a.sequence)
      const page = items.slice(0, limit)
      const last = page[page.length - 1]
      return items.length > limit && last ? { items: page, cursor: String(last.sequence) } : { items: page }
    },
    async close() {},
  }
}
