import type { Address, Hash } from 'viem'
import type { OutboxLease, OutboxVerbs, StoredDelivery } from '../../types/outbox.js'
import { transactionName } from '../../types/store.js'
import { decodeDelivery, encodeBody } from '../codec.js'
import { outboxLost } from '../leaseLost.js'
import { type Context, isHeld, lined, lines, mayTake, taken } from './context.js'

/** The outbox methods. Each is one statement, unless the name is new. */
export function outboxVerbs({ database, schema }: Context): OutboxVerbs {
  const sql = outboxStatements(schema)
  async function take(
    name: string,
    holder: string,
    ttlMs: number,
  ): Promise<OutboxLease | 'held' | 'missing'> {
    const [row] = await database.change({ text: sql.takeOutbox, values: [name, holder, ttlMs] })
    if (row === undefined) return 'missing'
    return row.epoch === null ? 'held' : { name, epoch: Number(row.epoch), holder }
  }

  return {
    async takeOutbox(name, holder, ttlMs) {
      let taken = await take(name, holder, ttlMs)
      if (taken === 'missing') {
        await database.change({ text: sql.addOutbox, values: [name] })
        taken = await take(name, holder, ttlMs)
      }
      return typeof taken === 'string' ? undefined : taken
    },
    async releaseOutbox({ name, epoch, holder }) {
      await database.change({ text: sql.releaseOutbox, values: [name, epoch, holder] })
    },
    async writeOutbox({ name, epoch, holder }, { read, deliveries }) {
      const puts = latestOf(deliveries)
      const values = [
        name,
        epoch,
        holder,
        read.map(({ lane }) => lane.chainId),
        read.map(({ lane }) => lane.genesisHash),
        read.map(({ lane }) => lane.address),
        read.map(({ revision }) => revision),
        puts.map(({ chain }) => chain.chainId),
        puts.map(({ chain }) => chain.genesisHash),
        puts.map(({ id }) => id),
        puts.map(({ state }) => state),
        lines(puts.map(encodeBody)),
      ]
      const rows = await database.change({ text: sql.writeOutbox, values })
      if (rows.length === 0) throw outboxLost()
    },
    async readOutbox(name) {
      // The lanes that are behind are read first. A lane written in between is behind the next time.
      const lanes = await database.read({ text: sql.lanesBehind, values: [name] })
      const [row] = await database.read({ text: sql.outboxState, values: [name] })
      return {
        isKnown: row?.written === true,
        isHeld: row?.is_held === true,
        behind: lanes.map((lane) => ({
          lane: {
            chainId: Number(lane.chain_id),
            genesisHash: lane.genesis_hash as Hash,
            address: lane.address as Address,
          },
          revision: Number(lane.revision),
          read: Number(lane.read),
        })),
        open: Number(row?.open ?? 0),
        dead: Number(row?.dead ?? 0),
      }
    },
    async deliveries(name, by) {
      const statement =
        'state' in by
          ? { text: sql.deliveriesIn, values: [name, by.state, by.limit] }
          : { text: sql.deliveriesOf, values: [name, by.chain.chainId, by.chain.genesisHash, [...by.ids]] }
      return (await database.read(statement)).map(({ body }) => decodeDelivery(String(body)))
    },
  }
}

/** The last delivery of each transaction, because one statement may touch a row only once. */
function latestOf(deliveries: readonly StoredDelivery[]): readonly StoredDelivery[] {
  return [...new Map(deliveries.map((one) => [transactionName(one.chain, one.id), one])).values()]
}

const outboxStatements = (schema: string) => ({
  addOutbox: `INSERT INTO ${schema}.outboxes (name) VALUES ($1) ON CONFLICT DO NOTHING`,

  /**
   * As for lanes: no row if the outbox does not exist yet, a row without an epoch if another process owns it.
   */
  takeOutbox: `
    WITH outbox AS (SELECT o.outbox FROM ${schema}.outboxes o WHERE o.name = $1::text),
    taken AS (
      UPDATE ${schema}.outboxes o SET
        ${taken('o', '$2', '$3')}
      FROM outbox
      WHERE o.outbox = outbox.outbox
        AND ${mayTake('o', '$2')}
      RETURNING o.epoch
    )
    SELECT (SELECT epoch FROM taken) AS epoch FROM outbox`,

  releaseOutbox: `
    UPDATE ${schema}.outboxes SET holder = NULL, expires_at = NULL
    WHERE name = $1::text AND epoch = $2::bigint AND holder = $3::text`,

  /**
   * Parameters `$1` to `$3`: the lease, whose row is locked first; `$4` to `$7`: the lanes and the revisions
   * read; `$8` to `$12`: the deliveries. Without a row in the result the lease is lost, and nothing was
   * written.
   */
  writeOutbox: `
    WITH outbox AS (
      UPDATE ${schema}.outboxes SET written = true
      WHERE name = $1::text AND epoch = $2::bigint AND holder = $3::text
      RETURNING outbox
    ),
    lanes_read AS (
      INSERT INTO ${schema}.outbox_lanes AS r (outbox, lane, revision)
      SELECT outbox.outbox, l.lane, u.revision
      FROM outbox, unnest($4::bigint[], $5::text[], $6::text[], $7::bigint[])
        AS u(chain_id, genesis_hash, address, revision)
      JOIN ${schema}.chains c ON c.chain_id = u.chain_id AND c.genesis_hash = u.genesis_hash
      JOIN ${schema}.lanes l ON l.chain = c.chain AND l.address = u.address
      ON CONFLICT (outbox, lane) DO UPDATE SET revision = greatest(r.revision, excluded.revision)
    ),
    put AS (
      INSERT INTO ${schema}.deliveries (chain, id, outbox, state, body)
      SELECT t.chain, t.id, outbox.outbox, u.state, u.body
      FROM outbox, unnest($8::bigint[], $9::text[], $10::text[], $11::text[], ${lined('$12')})
        AS u(chain_id, genesis_hash, id, state, body)
      JOIN ${schema}.chains c ON c.chain_id = u.chain_id AND c.genesis_hash = u.genesis_hash
      JOIN ${schema}.transactions t ON t.chain = c.chain AND t.id = u.id
      ORDER BY t.chain, t.id
      ON CONFLICT (chain, id, outbox) DO UPDATE SET state = excluded.state, body = excluded.body
    )
    SELECT outbox FROM outbox`,

  outboxState: `
    SELECT o.written,
      ${isHeld('o')} AS is_held,
      (SELECT count(*) FROM ${schema}.deliveries d
        WHERE d.outbox = o.outbox AND d.state = 'open') AS open,
      (SELECT count(*) FROM ${schema}.deliveries d
        WHERE d.outbox = o.outbox AND d.state = 'dead') AS dead
    FROM ${schema}.outboxes o WHERE o.name = $1::text`,

  lanesBehind: `
    SELECT c.chain_id, c.genesis_hash, l.address, l.revision, coalesce(r.revision, 0) AS read
    FROM ${schema}.lanes l JOIN ${schema}.chains c ON c.chain = l.chain
    LEFT JOIN ${schema}.outboxes o ON o.name = $1::text
    LEFT JOIN ${schema}.outbox_lanes r ON r.outbox = o.outbox AND r.lane = l.lane
    WHERE l.revision > coalesce(r.revision, 0)`,

  deliveriesOf: `
    SELECT d.body FROM ${schema}.outboxes o
    JOIN ${schema}.chains c ON c.chain_id = $2::bigint AND c.genesis_hash = $3::text
    JOIN ${schema}.deliveries d ON d.chain = c.chain AND d.id = ANY ($4::text[]) AND d.outbox = o.outbox
    WHERE o.name = $1::text`,

  deliveriesIn: `
    SELECT d.body FROM ${schema}.outboxes o JOIN ${schema}.deliveries d ON d.outbox = o.outbox
    WHERE o.name = $1::text AND d.state = $2::text AND d.state IN ('open', 'dead') LIMIT $3::bigint`,
})
