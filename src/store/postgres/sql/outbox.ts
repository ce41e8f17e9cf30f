import { isHeld, mayTake, taken } from './leaseTerms.js'
import { lined } from './lists.js'

export const outboxStatements = (schema: string) => ({
  addOutbox: `INSERT INTO ${schema}.outboxes (name) VALUES ($1) ON CONFLICT DO NOTHING`,

  /** As for lanes: no row where there is no such outbox yet, one without an epoch where another holder has it. */
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
   * The lease in `$1` to `$3`, whose row is locked first; lanes with what was read of them in `$4` to `$7`; deliveries in
   * `$8` to `$12`. No row: the lease is lost, and nothing is written.
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
        WHERE d.outbox = o.outbox AND d.state = 'open' AND d.state <> 'told') AS open,
      (SELECT count(*) FROM ${schema}.deliveries d
        WHERE d.outbox = o.outbox AND d.state = 'dead' AND d.state <> 'told') AS dead
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
    WHERE o.name = $1::text AND d.state = $2::text AND d.state <> 'told' LIMIT $3::bigint`,
})
