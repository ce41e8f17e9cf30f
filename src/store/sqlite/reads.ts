import type { Address, Hash } from 'viem'
import type { StoredCounter } from '../../types/laneReports.js'
import type {
  ChainKey,
  LaneArrivals,
  LaneChanges,
  LaneKey,
  LaneState,
  Lease,
  ListOptions,
  StoredPage,
  StoredTransaction,
  UnfinishedLane,
} from '../../types/store.js'
import { decodeCommand, decodeReport, decodeSlot, decodeTransaction } from '../codec.js'
import { arrivalsPage, arrivedUpTo, type ListPlace, listBounds, listPage, newestFirst } from '../page.js'
import type { Prepared } from './connection.js'
import { idOf, type Keys, type LaneRow, textOf } from './keys.js'
import { fenced, laneRecord } from './leases.js'

type Body = { readonly body: string }
type CommandRow = Body & { readonly sequence: number; readonly id: string }

const transactionOf = ({ body }: Body) => decodeTransaction(body)

export function load(prepared: Prepared, keys: Keys, lease: Lease): LaneState {
  const { lane, record } = fenced(prepared, keys, lease)
  const { sequence: firstCommand } = prepared.firstCommand.get(lane) as { sequence: number | null }
  return {
    slots: (prepared.slots.all(lane) as Body[]).map(({ body }) => decodeSlot(body)),
    transactions: (prepared.openTxs.all(lane) as Body[]).map(transactionOf),
    cursor: record.cursor ?? undefined,
    arrived: arrivedUpTo(record.sequence, firstCommand ?? undefined),
  }
}

export function arrivals(
  prepared: Prepared,
  lane: number | undefined,
  { after, limit }: { readonly after: number; readonly limit: number },
): LaneArrivals {
  if (lane === undefined) return { transactions: [], commands: [] }
  const transactions = (prepared.arrivedTxs.all(lane, after, limit) as Body[]).map(transactionOf)
  const commands = (prepared.commands.all(lane, after, limit) as CommandRow[]).map(
    ({ sequence, id, body }) => ({
      sequence,
      id: idOf(id),
      command: decodeCommand(body),
    }),
  )
  return arrivalsPage({ transactions, commands }, limit)
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

type UnfinishedRow = { readonly address: Address; readonly transactions: number; readonly isHeld: number }

export function unfinished(prepared: Prepared, keys: Keys, chain: ChainKey): readonly UnfinishedLane[] {
  const { chainId, genesisHash } = chain
  const key = keys.findChain(prepared, chain)
  if (key === undefined) return []
  const rows = prepared.unfinished.all(key) as UnfinishedRow[]
  return rows.map(({ address, transactions, isHeld }) => ({
    lane: { chainId, genesisHash, address },
    transactions,
    isHeld: isHeld === 1,
  }))
}

type CounterRow = {
  readonly lane: number
  readonly address: Address
  readonly cursor: number | null
  readonly report: string
  readonly holder: string | null
  readonly leaseMs: number | null
}

export function counters(prepared: Prepared, keys: Keys, chain: ChainKey): readonly StoredCounter[] {
  const { chainId, genesisHash } = chain
  const key = keys.findChain(prepared, chain)
  if (key === undefined) return []
  return (prepared.counters.all(key) as CounterRow[]).flatMap((row) => {
    const { counter } = decodeReport(row.report)
    if (counter === undefined) return []
    return {
      lane: { chainId, genesisHash, address: row.address },
      counter,
      holder: row.holder ?? undefined,
      leaseMs: row.leaseMs ?? undefined,
      cursor: row.cursor ?? undefined,
      slots: (prepared.slots.all(row.lane) as Body[]).map(({ body }) => decodeSlot(body)),
    }
  })
}

type ListRow = Body & ListPlace
type ListedLane = Pick<LaneRow, 'lane'>

function lanesIn(prepared: Prepared, keys: Keys, of: readonly LaneKey[] | ChainKey): readonly ListedLane[] {
  if (!('chainId' in of)) return of.flatMap((lane) => keys.findLane(prepared, lane) ?? [])
  const chain = keys.findChain(prepared, of)
  return chain === undefined ? [] : (prepared.lanesOf.all(chain) as ListedLane[])
}

export function list(
  prepared: Prepared,
  keys: Keys,
  of: readonly LaneKey[] | ChainKey,
  options: ListOptions,
): StoredPage {
  const { stage = null, group, limit } = options
  const { below, fromMs } = listBounds(options)
  const place = [below.createdAtMs, below.arrival, textOf(below.id)] as const
  const read = ({ lane }: ListedLane) => {
    const bounds = [lane, ...place, fromMs, stage] as const
    const [statement, rest] =
      group === undefined ? [prepared.list, []] : [prepared.listGroup, [textOf(group)]]
    return statement.all(...bounds, ...rest, limit + 1) as ListRow[]
  }
  const rows = lanesIn(prepared, keys, of).map(read)
  // The rows of each lane are sorted, and a page has at most `limit` rows of each lane.
  const all = rows.length === 1 ? (rows[0] ?? []) : rows.flat().sort(newestFirst)
  return listPage(all, limit, {
    place: ({ createdAtMs, arrival, id }) => ({ createdAtMs, arrival, id: idOf(id) }),
    transaction: transactionOf,
  })
}
