import { lined, listed } from './lists.js'

export const enqueueStatements = (schema: string) => ({
  /**
   * Parameters `$1` to `$5`: the lanes, with the number of their rows and their names; `$6` to `$12`, `$14`
   * and `$15`: the rows. All writers lock the rows of lanes in the same order, before they take a sequence
   * from them and until the commit. So a reader that has read up to a sequence has seen all lower ones.
   * Nothing is written unless every lane exists.
   */
  enqueue: `
    WITH locked AS (
      SELECT l.lane, u.place, u.count, u.name
      FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::text[])
        WITH ORDINALITY AS u(chain_id, genesis_hash, address, count, name, place)
      JOIN ${schema}.chains c ON c.chain_id = u.chain_id AND c.genesis_hash = u.genesis_hash
      JOIN ${schema}.lanes l ON l.chain = c.chain AND l.address = u.address
      ORDER BY l.lane FOR NO KEY UPDATE OF l
    ),
    placed AS (
      UPDATE ${schema}.lanes l SET sequence = l.sequence + locked.count, revision = l.revision + locked.count
      FROM locked
      WHERE l.lane = locked.lane AND (SELECT count(*) FROM locked) = array_length($1::bigint[], 1)
      RETURNING l.lane, l.chain, locked.place, locked.name || ' ' || l.sequence AS notice,
        l.sequence - locked.count AS sequence, l.revision - locked.count AS revision
    ),
    added AS (
      INSERT INTO ${schema}.transactions
        (chain, id, lane, sequence, revision, stage, ended_at, body, created_ms, arrival, group_name)
      SELECT p.chain, u.id, p.lane, p.sequence + u.nth, p.revision + u.nth, u.stage,
        CASE WHEN u.ended THEN clock_timestamp() END, u.body, u.created_ms, p.sequence + u.nth, u.group_name
      FROM unnest(${listed('$6', 'bigint')}, ${listed('$7', 'bigint')}, $8::text[], ${listed('$9', 'text')},
        ${listed('$10', 'boolean')}, ${lined('$11')}, ${listed('$14', 'double precision')}, $15::text[])
        AS u(lane, nth, id, stage, ended, body, created_ms, group_name)
      JOIN placed p ON p.place = u.lane
      -- In one order, because two lanes may get the same ids at once.
      ORDER BY p.chain, u.id
      ON CONFLICT (chain, id) DO NOTHING
      RETURNING chain, lane, id, sequence
    ),
    hashed AS (
      INSERT INTO ${schema}.hashes (chain, hash, id)
      SELECT DISTINCT ON (a.chain, u.hash) a.chain, u.hash, a.id
      FROM unnest(${listed('$6', 'bigint')}, $8::text[], ${listed('$12', 'text')}) AS u(lane, id, hash)
      JOIN placed p ON p.place = u.lane
      JOIN added a ON a.lane = p.lane AND a.id = u.id
      WHERE u.hash IS NOT NULL
      ON CONFLICT (chain, hash) DO UPDATE SET id = excluded.id
    )
    SELECT p.place AS lane, NULL AS id, NULL AS sequence, pg_notify($13, p.notice)::text AS told FROM placed p
    UNION ALL
    SELECT p.place, a.id, a.sequence, NULL FROM added a JOIN placed p ON p.lane = a.lane`,

  /**
   * Parameters `$1` to `$3`: the lane, whose row every writer locks first; `$4` to `$7`: the transaction;
   * `$8` and `$9`: the address and sequence of the transaction that it replaces.
   */
  restart: `
    WITH lane AS (
      UPDATE ${schema}.lanes l SET sequence = l.sequence + 1, revision = l.revision + 1
      FROM ${schema}.chains c
      WHERE c.chain = l.chain AND c.chain_id = $1::bigint AND c.genesis_hash = $2::text AND l.address = $3::text
      RETURNING l.lane, l.chain, l.sequence, l.revision, c.chain_id || ':' || c.genesis_hash || ':' || l.address AS name
    ),
    restarted AS (
      UPDATE ${schema}.transactions t SET lane = lane.lane, sequence = lane.sequence, revision = lane.revision,
        stage = 'queued', ended_at = NULL, body = $5::text, created_ms = $6::double precision, arrival = lane.sequence,
        group_name = $7::text
      FROM lane, ${schema}.lanes home
      WHERE home.chain = lane.chain AND home.address = $8::text
        AND t.chain = lane.chain AND t.id = $4::text AND t.lane = home.lane AND t.sequence = $9::bigint
        AND t.stage IN ('failed', 'cancelled')
      RETURNING home.lane AS home, t.id
    ),
    commands_gone AS (
      DELETE FROM ${schema}.commands k USING restarted r
      WHERE k.lane = r.home AND k.id = r.id
    )
    SELECT lane.sequence, pg_notify($10, lane.name || ' ' || lane.sequence)::text AS told FROM lane, restarted`,

  /** The stored transaction of each id. */
  kept: `
    SELECT t.sequence, t.body
    FROM unnest($1::bigint[], $2::text[], $3::text[]) AS u(chain_id, genesis_hash, id)
    JOIN ${schema}.chains c ON c.chain_id = u.chain_id AND c.genesis_hash = u.genesis_hash
    JOIN ${schema}.transactions t ON t.chain = c.chain AND t.id = u.id`,

  postCommand: `
    WITH wanted AS (
      SELECT t.lane, c.chain_id || ':' || c.genesis_hash || ':' AS chain_name
      FROM ${schema}.chains c JOIN ${schema}.transactions t ON t.chain = c.chain
      WHERE c.chain_id = $1::bigint AND c.genesis_hash = $2::text AND t.id = $3::text AND t.ended_at IS NULL
    ),
    lane AS (
      UPDATE ${schema}.lanes l SET sequence = l.sequence + 1 FROM wanted
      WHERE l.lane = wanted.lane
      RETURNING l.lane, l.sequence, wanted.chain_name || l.address AS name
    ),
    posted AS (
      INSERT INTO ${schema}.commands (lane, sequence, id, body) SELECT lane, sequence, $3::text, $4::text FROM lane
    )
    SELECT pg_notify($5, name || ' ' || sequence) FROM lane`,
})
