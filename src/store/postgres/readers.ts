import { decodeWish } from '../codec.js'
import type { LaneArrivals, Store } from '../store.js'
import { type Context, nameOf, transactionOf } from './context.js'
import type { Row } from './driver.js'

/** What anybody may read. Each is one statement. */
export function readVerbs({ database, sql }: Context): Pick<Store, 'arrivals' | 'changes' | 'find' | 'list'> {
  return {
    async arrivals(lane, after, limit) {
      const values = [...nameOf(lane), after, limit + 1]
      const rows = await database.read({ text: sql.arrived, values })
      return arrivalsOf(rows, limit)
    },
    async changes(lane, revision, limit) {
      const rows = await database.read({ text: sql.changed, values: [...nameOf(lane), revision, limit] })
      return {
        transactions: rows.map(transactionOf),
        revision: Number(rows.at(-1)?.revision ?? revision),
      }
    },
    async find(chain, by) {
      const [text, key] = 'id' in by ? [sql.byId, by.id] : [sql.byHash, by.hash]
      const [row] = await database.read({ text, values: [chain.chainId, chain.genesisHash, key] })
      return row && transactionOf(row)
    },
    async list(lane, { stage, limit, cursor }) {
      const values = [...nameOf(lane), cursor === undefined ? null : Number(cursor), stage ?? null, limit + 1]
      const rows = await database.read({ text: sql.listed, values })
      const items = rows.slice(0, limit).map(transactionOf)
      const last = items.at(-1)
      return rows.length > limit && last ? { items, cursor: String(last.sequence) } : { items }
    },
  }
}

/**
 * Of each kind one more was read than is wanted: where there is more of one, the other ends where it ends, so that
 * who goes on from the last of both misses nothing.
 */
function arrivalsOf(rows: readonly Row[], limit: number): LaneArrivals {
  const ofKind = (kind: string) =>
    rows.filter((row) => row.kind === kind).sort((a, b) => Number(a.sequence) - Number(b.sequence))
  const kinds = [ofKind('transaction'), ofKind('wish')] as const
  const ends = kinds.map((all) =>
    all.length > limit ? Number(all[limit - 1]?.sequence ?? 0) : Number.POSITIVE_INFINITY,
  )
  const [transactions, wishes] = kinds.map((all) =>
    all.slice(0, limit).filter((row) => Number(row.sequence) <= Math.min(...ends)),
  ) as [Row[], Row[]]
  return {
    transactions: transactions.map(transactionOf),
    wishes: wishes.map((row) => ({
      sequence: Number(row.sequence),
      id: String(row.id),
      wish: decodeWish(String(row.body)),
    })),
  }
}
