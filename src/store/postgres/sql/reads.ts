import { laneNamed } from './leases.js'

export const readStatements = (schema: string) => ({
  arrived: `
    (SELECT 'transaction' AS kind, t.sequence, t.id, t.body
     FROM ${laneNamed(schema)} JOIN ${schema}.transactions t ON t.lane = l.lane
     WHERE t.sequence > $4::bigint ORDER BY t.sequence LIMIT $5::bigint)
    UNION ALL
    (SELECT 'wish', w.sequence, w.id, w.body
     FROM ${laneNamed(schema)} JOIN ${schema}.wishes w ON w.lane = l.lane
     WHERE w.sequence > $4::bigint ORDER BY w.sequence LIMIT $5::bigint)`,

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

  listed: `
    SELECT t.sequence, t.body
    FROM ${laneNamed(schema)} JOIN ${schema}.transactions t ON t.lane = l.lane
    WHERE ($4::bigint IS NULL OR (t.sequence, t.id) < ($4::bigint, $5::text))
      AND ($6::text IS NULL OR t.stage = $6::text)
    ORDER BY t.sequence DESC, t.id DESC LIMIT $7::bigint`,
})
