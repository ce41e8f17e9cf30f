import { isHeld, lasts, mayTake, taken } from './leaseTerms.js'

/** Joins the lane with the chain id `$1`, genesis hash `$2` and address `$3` as `l`. */
export const laneNamed = (schema: string) => `
  ${schema}.lanes l JOIN ${schema}.chains c ON c.chain = l.chain
    AND c.chain_id = $1::bigint AND c.genesis_hash = $2::text AND l.address = $3::text`

export const leaseStatements = (schema: string) => ({
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

  unfinished: `
    SELECT l.address, count(*) AS transactions, ${isHeld('l')} AS is_held
    FROM ${schema}.lanes l JOIN ${schema}.chains c ON c.chain = l.chain
    JOIN ${schema}.transactions t ON t.lane = l.lane AND t.ended_at IS NULL AND t.stage = ANY ($3::text[])
    WHERE c.chain_id = $1::bigint AND c.genesis_hash = $2::text GROUP BY l.lane`,

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
