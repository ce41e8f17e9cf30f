import type { Address } from 'viem'
import type { Slot } from '../../ledger/slot.js'
import type { StoredCounter } from '../../types/laneReports.js'
import type { ChainKey, LaneArrivals, Store } from '../../types/store.js'
import { decodeCommand, decodeReport, decodeSlot } from '../codec.js'
import { UNSEALED } from '../ended.js'
import { arrivalsPage, type ListPlace, listBounds, listPage } from '../page.js'
import { type Context, isHeld, nameOf, transactionOf } from './context.js'
import type { Row } from './driver.js'
import { laneNamed } from './leases.js'

/** The read methods for any process. Each is one statement. */
export function readVerbs({
  database,
  schema,
}: Context): Pick<Store, 'arrivals' | 'changes' | 'find' | 'list' | 'unfinished' | 'counters'> {
  const sql = readStatements(schema)
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
    async counters(chain) {
      const { chainId, genesisHash } = chain
      return countersOf(chain, await database.read({ text: sql.counters, values: [chainId, genesisHash] }))
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

/** One row for each slot, or one without a slot. */
function countersOf({ chainId, genesisHash }: ChainKey, rows: readonly Row[]): readonly StoredCounter[] {
  const counters = new Map<unknown, StoredCounter & { readonly slots: Slot[] }>()
  for (const { address, report, holder, lease_ms, cursor, body } of rows) {
    const { counter } = decodeReport(String(report))
    if (counter === undefined) continue
    const one = counters.get(address) ?? {
      lane: { chainId, genesisHash, address: address as Address },
      counter,
      holder: holder === null ? undefined : String(holder),
      leaseMs: lease_ms === null ? undefined : Number(lease_ms),
      cursor: cursor === null ? undefined : Number(cursor),
      slots: [],
    }
    if (body !== null) one.slots.push(decodeSlot(String(body)))
    counters.set(address, one)
  }
  return [...counters.values()]
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

/**
 * The lanes of one chain in `$1` to `$3`, or all of them. A page takes at most `limit` rows from each lane,
 * so each is read only that far.
 */
const listOf = (schema: string, group: string) => `
    SELECT t.sequence, t.body, t.created_ms, t.arrival, t.id
    FROM ${schema}.chains c
    JOIN ${schema}.lanes l ON l.chain = c.chain AND ($3::text[] IS NULL OR l.address = ANY ($3::text[]))
    CROSS JOIN LATERAL (
      SELECT t.sequence, t.body, t.created_ms, t.arrival, t.id FROM ${schema}.transactions t
      WHERE t.lane = l.lane AND (t.created_ms, t.arrival, t.id) < ($4::double precision, $5::bigint, $6::text)
        AND t.created_ms >= $7::double precision AND ($8::text IS NULL OR t.stage = $8::text) ${group}
      ORDER BY t.created_ms DESC, t.arrival DESC, t.id DESC LIMIT $9::bigint
    ) t
    WHERE c.chain_id = $1::bigint AND c.genesis_hash = $2::text
    ORDER BY t.created_ms DESC, t.arrival DESC, t.id DESC LIMIT $9::bigint`

const readStatements = (schema: string) => ({
  unfinished: `
    SELECT l.address, count(*) AS transactions, ${isHeld('l')} AS is_held
    FROM ${schema}.lanes l JOIN ${schema}.chains c ON c.chain = l.chain
    JOIN ${schema}.transactions t ON t.lane = l.lane AND t.ended_at IS NULL AND t.stage = ANY ($3::text[])
    WHERE c.chain_id = $1::bigint AND c.genesis_hash = $2::text GROUP BY l.lane`,

  counters: `
    SELECT l.address, l.report, l.cursor, s.body, CASE WHEN ${isHeld('l')} THEN l.holder END AS holder,
      CASE WHEN ${isHeld('l')} THEN extract(epoch FROM l.expires_at - clock_timestamp()) * 1000 END AS lease_ms
    FROM ${schema}.lanes l JOIN ${schema}.chains c ON c.chain = l.chain
    LEFT JOIN ${schema}.slots s ON s.lane = l.lane
    WHERE c.chain_id = $1::bigint AND c.genesis_hash = $2::text AND l.report LIKE '%"counter":%'
    ORDER BY l.lane, s.nonce`,

  arrived: `
    (SELECT 'transaction' AS kind, t.sequence, t.id, t.body
     FROM ${laneNamed(schema)} JOIN ${schema}.transactions t ON t.lane = l.lane
     WHERE t.sequence > $4::bigint ORDER BY t.sequence LIMIT $5::bigint)
    UNION ALL
    (SELECT 'command', k.sequence, k.id, k.body
     FROM ${laneNamed(schema)} JOIN ${schema}.commands k ON k.lane = l.lane
     WHERE k.sequence > $4::bigint ORDER BY k.sequence LIMIT $5::bigint)`,

  changed: `
    SELECT t.sequence, t.revision, t.body
    FROM ${laneNamed(schema)} JOIN ${schema}.transactions t ON t.lane = l.lane
    WHERE t.revision > $4::bigint ORDER BY t.revision LIMIT $5::bigint`,

  revision: `SELECT l.revision FROM ${laneNamed(schema)}`,

  byId: `
    SELECT t.sequence, t.body FROM ${schema}.chains c JOIN ${schema}.transactions t ON t.chain = c.chain
    WHERE c.chain_id = $1::bigint AND c.genesis_hash = $2::text AND t.id = $3::text`,

  byHash: `
    SELECT t.sequence, t.body FROM ${schema}.chains c
    JOIN ${schema}.hashes h ON h.chain = c.chain AND h.hash = $3::text
    JOIN ${schema}.transactions t ON t.chain = c.chain AND t.id = h.id
    WHERE c.chain_id = $1::bigint AND c.genesis_hash = $2::text`,

  listed: listOf(schema, ''),
  listedGroup: listOf(schema, 'AND t.group_name = $10::text'),
})
