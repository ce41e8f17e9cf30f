import type { Hash } from 'viem'
import type { Stage } from '../../types.js'
import { decodeSlot, decodeTransaction, decodeWish } from '../codec.js'
import { arrivalsPage, arrivedUpTo, listCursor, listPlace } from '../page.js'
import type {
  ChainKey,
  LaneArrivals,
  LaneChanges,
  LaneKey,
  LaneState,
  Lease,
  StoredPage,
  StoredTransaction,
} from '../store.js'
import type { Prepared } from './connection.js'
import { idOf, type Keys, textOf } from './keys.js'
import { fenced, laneRecord } from './leases.js'

type Body = { readonly body: string }
type WishRow = Body & { readonly sequence: number; readonly id: string }

const transactionOf = ({ body }: Body) => decodeTransaction(body)

export function load(prepared: Prepared, keys: Keys, lease: Lease): LaneState {
  const { lane, record } = fenced(prepared, keys, lease)
  const { sequence: firstWish } = prepared.firstWish.get(lane) as { sequence: number | null }
  return {
    slots: (prepared.slots.all(lane) as Body[]).map(({ body }) => decodeSlot(body)),
    transactions: (prepared.openTxs.all(lane) as Body[]).map(transactionOf),
    cursor: record.cursor ?? undefined,
    arrived: arrivedUpTo(record.sequence, firstWish ?? undefined),
  }
}

export function arrivals(
  prepared: Prepared,
  lane: number | undefined,
  { after, limit }: { readonly after: number; readonly limit: number },
): LaneArrivals {
  if (lane === undefined) return { transactions: [], wishes: [] }
  const transactions = (prepared.arrivedTxs.all(lane, after, limit) as Body[]).map(transactionOf)
  const wishes = (prepared.wishes.all(lane, after, limit) as WishRow[]).map(({ sequence, id, body }) => ({
    sequence,
    id: idOf(id),
    wish: decodeWish(body),
  }))
  return arrivalsPage({ transactions, wishes }, limit)
}

export function changes(
  prepared: Prepared,
  lane: number | undefined,
  { revision, limit }: { readonly revision: number | 'now'; readonly limit: number },
): LaneChanges {
  if (lane === undefined) return { transactions: [], revision: revision === 'now' ? 0 : revision }
  if (revision === 'now') return { transactions: [], revision: laneRecord(prepared, lane).revision }
  const rows = prepared.changedTxs.all(lane, revision, limit) as (Body & { readonly revision: number })[]
  return { transactions: rows.map(transactionOf), revision: rows.at(-1)?.revision ?? revision }
}

export function find(
  prepared: Prepared,
  keys: Keys,
  chain: ChainKey,
  by: { id: string } | { hash: Hash },
): StoredTransaction | undefined {
  const key = keys.findChain(prepared, chain)
  if (key === undefined) return undefined
  const found = 'id' in by ? prepared.txById.get(key, textOf(by.id)) : prepared.txByHash.get(key, by.hash)
  return found === undefined ? undefined : transactionOf(found as Body)
}

export type ListOptions = {
  readonly stage?: Stage | undefined
  readonly limit: number
  readonly cursor?: string | undefined
}

export function list(prepared: Prepared, keys: Keys, of: LaneKey, options: ListOptions): StoredPage {
  const row = keys.findLane(prepared, of)
  if (row === undefined) return { items: [] }
  const { stage = null, limit, cursor } = options
  const last = cursor === undefined ? { sequence: Number.MAX_SAFE_INTEGER, id: '' } : listPlace(cursor)
  const rows = prepared.list.all(row.lane, last.sequence, textOf(last.id), stage, limit + 1) as Body[]
  const items = rows.slice(0, limit).map(transactionOf)
  const end = items.at(-1)
  return rows.length > limit && end ? { items, cursor: listCursor(end) } : { items }
}
