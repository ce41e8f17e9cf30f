import { lined, listed } from './lists.js'

/** The condition that a lease is still valid. `$1` to `$3`: the lane's key, `$4`: epoch, `$5`: owner. */
const leased = `c.chain = l.chain AND c.chain_id = $1::bigint AND c.genesis_hash = $2::text
  AND l.address = $3::text AND l.epoch = $4::bigint AND l.holder = $5::text`

export const writeStatements = (schema: string) => ({
  /**
   * The whole write as one statement, which is one transaction and one round trip. Its first part locks the
   * lane's row and checks lease and fence there. A late write finds no lane then, and writes nothing.
   */
  write: `
    WITH lane AS (
      UPDATE ${schema}.lanes l SET
        fence = $6::bigint,
        cursor = greatest(l.cursor, $7::bigint),
        revision = l.revision + coalesce(array_length($12::text[], 1), 0)
      FROM ${schema}.chains c
      WHERE ${leased} AND l.fence < $6::bigint
      RETURNING l.lane, l.chain, l.revision - coalesce(array_length($12::text[], 1), 0) AS revision,
        l.sequence
    ),
    slots_gone AS (
      DELETE FROM ${schema}.slots s USING lane WHERE s.lane = lane.lane AND s.nonce = ANY (${listed('$8', 'bigint')})
    ),
    slots_kept AS (
      INSERT INTO ${schema}.slots (lane, nonce, body)
      SELECT lane.lane, u.nonce, u.body FROM lane, unnest(${listed('$9', 'bigint')}, ${lined('$10')}) AS u(nonce, body)
      ON CONFLICT (lane, nonce) DO UPDATE SET body = excluded.body
    ),
    commands_done AS (
      DELETE FROM ${schema}.commands k USING lane WHERE k.lane = lane.lane AND k.sequence <= $11::bigint
    ),
    transactions_kept AS (
      INSERT INTO ${schema}.transactions AS t
        (chain, id, lane, sequence, revision, stage, ended_at, body, created_ms, arrival, group_name)
      SELECT lane.chain, u.id, lane.lane, u.sequence, lane.revision + u.place, u.stage,
        CASE WHEN u.ended THEN clock_timestamp() END, u.body, u.created_ms, u.sequence, u.group_name
      FROM lane, unnest($12::text[], ${listed('$13', 'bigint')}, ${listed('$14', 'text')},
        ${listed('$15', 'boolean')}, ${lined('$16')}, ${listed('$22', 'double precision')}, $23::text[])
        WITH ORDINALITY AS u(id, sequence, stage, ended, body, created_ms, group_name, place)
      ON CONFLICT (chain, id) DO UPDATE SET
        sequence = excluded.sequence,
        revision = excluded.revision,
        stage = excluded.stage,
        body = excluded.body,
        ended_at = CASE WHEN excluded.ended_at IS NULL THEN NULL ELSE coalesce(t.ended_at, excluded.ended_at) END
      -- Otherwise it was handed off to another lane, or restarted.
      WHERE t.lane = excluded.lane AND t.sequence <= excluded.sequence
    ),
    -- The slot of a deleted transaction may be written once more.
    hashes_kept AS (
      INSERT INTO ${schema}.hashes AS h (chain, hash, id)
      SELECT lane.chain, u.hash, u.id
      FROM lane, unnest(${listed('$17', 'text')}, $18::text[], ${listed('$19', 'boolean')}) AS u(hash, id, written)
      WHERE u.written
        OR EXISTS (SELECT FROM ${schema}.transactions t WHERE t.chain = lane.chain AND t.id = u.id)
      ON CONFLICT (chain, hash) DO UPDATE SET id = excluded.id WHERE h.id <> excluded.id
    )
    SELECT pg_notify($20, $21 || ' ' || sequence) FROM lane`,

  /**
   * Explains why a write found no lane: if this finds none either, the lease is lost; otherwise the fence is
   * ahead of the writer.
   */
  fence: `SELECT l.fence FROM ${schema}.lanes l, ${schema}.chains c WHERE ${leased}`,

  /**
   * Run before a lane is read. It waits for a running write, and fences off one that is still in transit to
   * the server, so that the state read afterwards is final.
   */
  shut: `
    UPDATE ${schema}.lanes l SET fence = greatest(l.fence, $6::bigint) + 1
    FROM ${schema}.chains c WHERE ${leased}
    RETURNING l.fence`,

  /** One statement, so that all parts of the result are from one moment. */
  load: `
    WITH lane AS (
      SELECT l.lane, l.cursor, l.sequence FROM ${schema}.lanes l, ${schema}.chains c WHERE ${leased}
    )
    SELECT 'lane' AS kind, lane.cursor, lane.sequence, NULL AS body FROM lane
    UNION ALL
    SELECT 'slot', s.nonce, NULL, s.body FROM lane JOIN ${schema}.slots s ON s.lane = lane.lane
    UNION ALL
    SELECT 'transaction', NULL, t.sequence, t.body
    FROM lane JOIN ${schema}.transactions t ON t.lane = lane.lane AND t.ended_at IS NULL
    UNION ALL
    SELECT 'command', NULL, min(k.sequence), NULL FROM lane JOIN ${schema}.commands k ON k.lane = lane.lane
    HAVING count(*) > 0`,

  /**
   * Deletes a limited number of transactions that ended long ago, with their hashes. Rows that another
   * process is deleting are skipped.
   */
  prune: `
    WITH old AS (
      SELECT t.chain, t.id FROM ${schema}.transactions t
      WHERE t.ended_at < clock_timestamp() - $1::double precision * interval '1 millisecond'
      ORDER BY t.ended_at LIMIT $2 FOR UPDATE SKIP LOCKED
    ),
    forgotten AS (
      DELETE FROM ${schema}.transactions t USING old WHERE t.chain = old.chain AND t.id = old.id
      RETURNING t.chain, t.id
    ),
    hashes_gone AS (
      DELETE FROM ${schema}.hashes h USING forgotten f WHERE h.chain = f.chain AND h.id = f.id
    )
    SELECT count(*) AS count FROM forgotten`,
})
