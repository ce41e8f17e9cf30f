import { laneNamed } from './leases.js'

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

export const readStatements = (schema: string) => ({
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
