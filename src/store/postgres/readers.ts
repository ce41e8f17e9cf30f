import type { Address } from 'viem'
import type { LaneArrivals, Store } from '../../types/store.js'
import { decodeCommand } from '../codec.js'
import { UNSEALED } from '../ended.js'
import { arrivalsPage, type ListPlace, listBounds, listPage } from '../page.js'
import { type Context, nameOf, transactionOf } from './context.js'
import type { Row } from './driver.js'

/** The read methods for any process. Each is one statement. */
export function readVerbs({
  database,
  sql,
}: Context): Pick<Store, 'arrivals' | 'changes' | 'find' | 'list' | 'unfinished'> {
  return {
    async arrivals(lane, after, limit) {
      const rows = await database.read({ text: sql.arrived, values: [...nameOf(lane), after, limit] })
      return arrivalsPage(arrivalsOf(rows), limit)
    },
    async changes(lane, revision, limit) {
      if (revision === 'now') {
        const [row] = await database.read({ text: sql.revision, values: nameOf(lane) })
        return { transactions: [], revision: Number(row?.revision ?? 0) }
      }
      const rows = await database.read({ text: sql.changed, values: [...nameOf(lane), revision, limit] })
      return {
        transactions: rows.map(transactionOf),
        revision: Number(rows.at(-1)?.revision ?? revision),
      }
    },
    async unfinished({ chainId, genesisHash }) {
      const rows = await database.read({ text: sql.unfinished, values: [chainId, genesisHash, UNSEALED] })
      return rows.map(({ address, transactions, is_held }) => ({
        lane: { chainId, genesisHash, address: address as Address },
        transactions: Number(transactions),
        isHeld: is_held === true,
      }))
    },
    async find(chain, by) {
      const [text, key] = 'id' in by ? [sql.byId, by.id] : [sql.byHash, by.hash]
      const [row] = await database.read({ text, values: [chain.chainId, chain.genesisHash, key] })
      return row && transactionOf(row)
    },
    async list(of, options) {
      const { stage = null, group, limit } = options
      const { below, fromMs } = listBounds(options)
      const chain = 'chainId' in of ? of : of[0]
      if (chain === undefined) return { items: [] }
      const { chainId, genesisHash } = chain
      const addresses = 'chainId' in of ? null : of.map(({ address }) => address)
      const place = [below.createdAtMs, below.arrival, below.id]
      const values = [chainId, genesisHash, addresses, ...place, fromMs, stage, limit + 1]
      const statement =
        group === undefined
          ? { text: sql.listed, values }
          : { text: sql.listedGroup, values: [...values, group] }
      return listPage(await database.read(statement), limit, { place: placeOf, transaction: transactionOf })
    },
  }
}

function placeOf(row: Row): ListPlace {
  return { createdAtMs: Number(row.created_ms), arrival: Number(row.arrival), id: String(row.id) }
}

function arrivalsOf(rows: readonly Row[]): LaneArrivals {
  const ofKind = (kind: string) =>
    rows.filter((row) => row.kind === kind).sort((a, b) => Number(a.sequence) - Number(b.sequence))
  return {
    transactions: ofKind('transaction').map(transactionOf),
    commands: ofKind('command').map((row) => ({
      sequence: Number(row.sequence),
      id: String(row.id),
      command: decodeCommand(String(row.body)),
    })),
  }
}
