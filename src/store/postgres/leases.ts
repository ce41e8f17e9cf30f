import type { Address, Hash } from 'viem'
import { type LaneKey, type Lease, laneName, type Store } from '../../types/store.js'
import { decodeReport, encodeBody } from '../codec.js'
import { type Context, isHeld, lasts, mayTake, nameOf, taken } from './context.js'

/**
 * A lease is stored in columns of the lane's row, and is measured by the database's clock, so that two clocks
 * are never compared.
 */
export function leaseVerbs(
  context: Context,
): Pick<Store, 'chains' | 'acquire' | 'renew' | 'release' | 'report' | 'reports'> {
  const { database, schema, channel } = context
  const sql = leaseStatements(schema)

  async function take(lane: LaneKey, holder: string, ttlMs: number): Promise<Lease | 'held' | 'missing'> {
    const rows = await database.change({ text: sql.acquire, values: [...nameOf(lane), holder, ttlMs] })
    const [row] = rows
    if (row === undefined) return 'missing'
    return row.epoch === null ? 'held' : { lane, epoch: Number(row.epoch), holder }
  }

  return {
    async chains({ chainId, genesisHash }) {
      if (genesisHash !== undefined)
        await database.change({ text: sql.addFirstChain, values: [chainId, genesisHash] })
      const rows = await database.read({ text: sql.chainsOf, values: [chainId] })
      return rows.map((row) => row.genesis_hash as Hash)
    },
    async acquire(lane, holder, ttlMs) {
      let taken = await take(lane, holder, ttlMs)
      if (taken === 'missing') {
        await addLanes(context, [lane])
        taken = await take(lane, holder, ttlMs)
      }
      return typeof taken === 'string' ? undefined : taken
    },
    async renew(holder, ttlMs) {
      const rows = await database.change({ text: sql.renew, values: [holder, ttlMs] })
      return rows.map((row) => ({
        lane: {
          chainId: Number(row.chain_id),
          genesisHash: row.genesis_hash as Hash,
          address: row.address as Address,
        },
        epoch: Number(row.epoch),
        holder,
      }))
    },
    async report(reports) {
      if (reports.length === 0) return
      const leases = reports.map(({ lease }) => lease)
      const values = [
        leases.map(({ lane }) => lane.chainId),
        leases.map(({ lane }) => lane.genesisHash),
        leases.map(({ lane }) => lane.address),
        leases.map(({ epoch }) => epoch),
        leases.map(({ holder }) => holder),
        reports.map(({ report }) => encodeBody(report)),
      ]
      await database.change({ text: sql.report, values })
    },
    async reports(lanes) {
      const [first] = lanes
      if (first === undefined) return []
      const byAddress = new Map(lanes.map((lane) => [lane.address, lane]))
      const values = [first.chainId, first.genesisHash, [...byAddress.keys()]]
      const rows = await database.read({ text: sql.reports, values })
      return rows.map(({ address, report, is_held }) => ({
        lane: byAddress.get(address as Address) as LaneKey,
        isHeld: is_held === true,
        report: report === null ? undefined : decodeReport(String(report)),
      }))
    },
    async release({ lane, epoch, holder }) {
      const values = [...nameOf(lane), epoch, holder, channel, laneName(lane)]
      await database.change({ text: sql.release, values })
    },
  }
}

/** Inserts rows for lanes that were never used. The two statements are independent of each other. */
export async function addLanes({ database, schema }: Context, lanes: readonly LaneKey[]): Promise<void> {
  const sql = leaseStatements(schema)
  const chains = [lanes.map((lane) => lane.chainId), lanes.map((lane) => lane.genesisHash)]
  await database.change({ text: sql.addChains, values: chains })
  await database.change({ text: sql.addLanes, values: [...chains, lanes.map((lane) => lane.address)] })
}

/** Joins the lane with the chain id `$1`, genesis hash `$2` and address `$3` as `l`. */
export const laneNamed = (schema: string) => `
  ${schema}.lanes l JOIN ${schema}.chains c ON c.chain = l.chain
    AND c.chain_id = $1::bigint AND c.genesis_hash = $2::text AND l.address = $3::text`

const leaseStatements = (schema: string) => ({
  /**
   * Sorted, like every statement that locks several rows: two processes with opposite orders would deadlock.
   */
  addChains: `
    INSERT INTO ${schema}.chains (chain_id, genesis_hash)
    SELECT DISTINCT u.chain_id, u.genesis_hash FROM unnest($1::bigint[], $2::text[]) AS u(chain_id, genesis_hash)
    ORDER BY 1, 2
    ON CONFLICT DO NOTHING`,

  /** Of two concurrent statements the second waits at the unique index, and adds nothing. */
  addFirstChain: `
    INSERT INTO ${schema}.chains (chain_id, genesis_hash, first)
    SELECT $1::bigint, $2::text, true WHERE NOT EXISTS (SELECT FROM ${schema}.chains WHERE chain_id = $1::bigint)
    ON CONFLICT DO NOTHING`,

  chainsOf: `SELECT genesis_hash FROM ${schema}.chains WHERE chain_id = $1::bigint ORDER BY chain`,

  addLanes: `
    INSERT INTO ${schema}.lanes (chain, address)
    SELECT DISTINCT c.chain, u.address
    FROM unnest($1::bigint[], $2::text[], $3::text[]) AS u(chain_id, genesis_hash, address)
    JOIN ${schema}.chains c ON c.chain_id = u.chain_id AND c.genesis_hash = u.genesis_hash
    ORDER BY 1, 2
    ON CONFLICT DO NOTHING`,

  /**
   * Returns no row if the lane does not exist yet, and a row without an epoch if another process owns the
   * lease. The conditions are checked again once the row is locked, so that of several concurrent attempts
   * exactly one succeeds.
   */
  acquire: `
    WITH lane AS (SELECT l.lane FROM ${laneNamed(schema)}),
    taken AS (
      UPDATE ${schema}.lanes l SET
        fence = CASE WHEN l.holder = $4 THEN l.fence ELSE 0 END,
        ${taken('l', '$4', '$5')}
      FROM lane
      WHERE l.lane = lane.lane
        AND ${mayTake('l', '$4')}
      RETURNING l.epoch
    )
    SELECT (SELECT epoch FROM taken) AS epoch FROM lane`,

  renew: `
    WITH held AS (
      SELECT l.lane FROM ${schema}.lanes l WHERE l.holder = $1 ORDER BY l.lane FOR NO KEY UPDATE
    )
    UPDATE ${schema}.lanes l SET ${lasts('$2')}
    FROM held, ${schema}.chains c
    WHERE l.lane = held.lane AND l.holder = $1 AND c.chain = l.chain
    RETURNING c.chain_id, c.genesis_hash, l.address, l.epoch`,

  /** Sorted, like every statement that locks several rows. */
  report: `
    WITH said AS (
      SELECT l.lane, u.report FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::text[], $6::text[])
        AS u(chain_id, genesis_hash, address, epoch, holder, report)
      JOIN ${schema}.chains c ON c.chain_id = u.chain_id AND c.genesis_hash = u.genesis_hash
      JOIN ${schema}.lanes l ON l.chain = c.chain AND l.address = u.address AND l.epoch = u.epoch AND l.holder = u.holder
      ORDER BY l.lane FOR NO KEY UPDATE OF l
    )
    UPDATE ${schema}.lanes l SET report = said.report, report_epoch = l.epoch FROM said WHERE l.lane = said.lane`,

  reports: `
    SELECT l.address, CASE WHEN l.report_epoch = l.epoch THEN l.report END AS report,
      ${isHeld('l')} AS is_held
    FROM ${schema}.lanes l JOIN ${schema}.chains c ON c.chain = l.chain
    WHERE c.chain_id = $1::bigint AND c.genesis_hash = $2::text AND l.address = ANY ($3::text[])`,

  release: `
    WITH given AS (
      UPDATE ${schema}.lanes l SET holder = NULL, expires_at = NULL
      FROM ${schema}.chains c
      WHERE c.chain = l.chain AND c.chain_id = $1::bigint AND c.genesis_hash = $2::text AND l.address = $3::text
        AND l.epoch = $4::bigint AND l.holder = $5::text
      RETURNING l.lane
    )
    SELECT pg_notify($6, $7) FROM given`,
})
