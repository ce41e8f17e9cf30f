import { lined, listed } from './lists.js'

export const handStatements = (schema: string) => ({
  /**
   * What is queued in the lane of a lease (`$1` to `$5`, and the number of the write in `$6`) arrives in others: lanes in
   * `$7` and `$8` (with how many each gets), rows in `$9` to `$12`. The rows of all lanes are locked in one order by all,
   * as where something is enqueued. What is not queued there any more is left alone.
   */
  hand: `
    WITH locked AS (
      SELECT l.lane, c.chain_id || ':' || c.genesis_hash || ':' || l.address AS name, l.address = $3::text AS own,
        u.place, u.count
      FROM ${schema}.chains c JOIN ${schema}.lanes l ON l.chain = c.chain
      LEFT JOIN unnest($7::text[], $8::bigint[]) WITH ORDINALITY AS u(address, count, place) ON u.address = l.address
      WHERE c.chain_id = $1::bigint AND c.genesis_hash = $2::text
        AND (l.address = $3::text OR l.address = ANY ($7::text[]))
      ORDER BY l.lane FOR NO KEY UPDATE OF l
    ),
    lane AS (
      UPDATE ${schema}.lanes l SET fence = $6::bigint FROM locked
      WHERE locked.own AND l.lane = locked.lane
        AND l.epoch = $4::bigint AND l.holder = $5::text AND l.fence < $6::bigint
      RETURNING l.lane, l.chain
    ),
    placed AS (
      UPDATE ${schema}.lanes l SET sequence = l.sequence + locked.count, revision = l.revision + locked.count
      FROM locked, lane
      WHERE NOT locked.own AND l.lane = locked.lane
      RETURNING l.lane, locked.place, locked.name || ' ' || l.sequence AS notice,
        l.sequence - locked.count AS sequence_before, l.revision - locked.count AS revision_before
    ),
    handed AS (
      UPDATE ${schema}.transactions t SET
        lane = placed.lane,
        sequence = placed.sequence_before + u.nth,
        revision = placed.revision_before + u.nth,
        body = u.body
      FROM lane, placed,
        unnest(${listed('$9', 'bigint')}, ${listed('$10', 'bigint')}, $11::text[], ${lined('$12')}) AS u(lane, nth, id, body)
      WHERE placed.place = u.lane
        AND t.chain = lane.chain AND t.id = u.id AND t.lane = lane.lane AND t.stage = 'queued'
    )
    SELECT (SELECT count(*) FROM placed) AS placed, pg_notify($13, p.notice)::text AS told
    FROM lane LEFT JOIN placed p ON true`,
})
