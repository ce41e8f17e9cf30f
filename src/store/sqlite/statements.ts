import { UNSEALED } from '../ended.js'
import { LEASES_AHEAD_MAX } from '../leaseTime.js'
import { NOW_MS } from './schema.js'

const INSERT_TX = `INSERT INTO tx (chain, id, lane, sequence, revision, stage, ended_ms, body, created_ms, arrival, group_name)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, CASE WHEN ?7 THEN ${NOW_MS} END, ?8, ?9, ?4, ?10)`

function listOf(group: string): string {
  return `SELECT body, created_ms AS createdAtMs, arrival, id FROM tx
    WHERE lane = ?1 AND (created_ms, arrival, id) < (?2, ?3, ?4) AND created_ms >= ?5 AND (?6 IS NULL OR stage = ?6) ${group}
    ORDER BY created_ms DESC, arrival DESC, id DESC LIMIT ?${group === '' ? 7 : 8}`
}

// Takes a lease of a lane or an outbox for the owner `?1` and for `?2` ms. A lease that ends too far in the
// future counts as expired (`leaseTime.ts`).
const TAKE = `epoch = epoch + (holder IS NOT ?1), holder = ?1, lease_ms = CAST(?2 AS INTEGER),
      until_ms = CAST(${NOW_MS} + ?2 AS INTEGER)`
const MAY_TAKE = `(holder IS NULL OR holder = ?1 OR until_ms <= ${NOW_MS}
      OR until_ms > ${NOW_MS} + ${LEASES_AHEAD_MAX} * lease_ms)`
const IS_HELD = `(holder IS NOT NULL AND until_ms > ${NOW_MS}
    AND until_ms <= ${NOW_MS} + ${LEASES_AHEAD_MAX} * lease_ms)`

/** Every statement, kept prepared. */
export const SQL = {
  dataVersion: 'PRAGMA data_version',

  addChain: 'INSERT INTO chain (chain_id, genesis) VALUES (?, ?) ON CONFLICT DO NOTHING',
  addFirstChain: `INSERT INTO chain (chain_id, genesis) SELECT ?1, ?2
    WHERE NOT EXISTS (SELECT 1 FROM chain WHERE chain_id = ?1)`,
  chainsOf: 'SELECT genesis FROM chain WHERE chain_id = ? ORDER BY key',
  chain: 'SELECT key FROM chain WHERE chain_id = ? AND genesis = ?',
  addLane: 'INSERT INTO lane (chain, address) VALUES (?, ?) ON CONFLICT DO NOTHING',
  lane: 'SELECT key FROM lane WHERE chain = ? AND address = ?',
  lanesOf: 'SELECT key AS lane FROM lane WHERE chain = ?',
  laneState: 'SELECT epoch, holder, cursor, sequence, revision FROM lane WHERE key = ?',

  acquire: `UPDATE lane SET ${TAKE} WHERE key = ?3 AND ${MAY_TAKE}`,
  renew: `UPDATE lane SET lease_ms = CAST(?1 AS INTEGER), until_ms = CAST(${NOW_MS} + ?1 AS INTEGER) WHERE holder = ?2`,
  held: `SELECT chain_id AS chainId, genesis, address, epoch FROM lane JOIN chain ON chain.key = lane.chain
    WHERE holder = ? ORDER BY lane.key`,
  release: 'UPDATE lane SET holder = NULL WHERE key = ? AND epoch = ? AND holder = ?',
  putReport: 'UPDATE lane SET report = ?1, report_epoch = ?2 WHERE key = ?3 AND epoch = ?2 AND holder = ?4',
  reportOf: `SELECT CASE WHEN report_epoch = epoch THEN report END AS report, ${IS_HELD} AS isHeld FROM lane WHERE key = ?`,
  unfinished: `SELECT lane.address, count(*) AS transactions, ${IS_HELD} AS isHeld
    FROM lane JOIN tx ON tx.lane = lane.key AND tx.ended_ms IS NULL
    WHERE lane.chain = ?1 AND tx.stage IN (${UNSEALED.map((stage) => `'${stage}'`).join(', ')}) GROUP BY lane.key`,
  counters: `SELECT key AS lane, address, cursor, report, CASE WHEN ${IS_HELD} THEN holder END AS holder,
      CASE WHEN ${IS_HELD} THEN until_ms - ${NOW_MS} END AS leaseMs
    FROM lane WHERE chain = ? AND report LIKE '%"counter":%' ORDER BY key`,
  placed: 'UPDATE lane SET sequence = ?, revision = ? WHERE key = ?',
  wrote: 'UPDATE lane SET cursor = max(coalesce(cursor, 0), ?), revision = ? WHERE key = ?',

  putSlot: `INSERT INTO slot (lane, nonce, body) VALUES (?, ?, ?)
    ON CONFLICT DO UPDATE SET body = excluded.body`,
  dropSlot: 'DELETE FROM slot WHERE lane = ? AND nonce = ?',
  slots: 'SELECT body FROM slot WHERE lane = ? ORDER BY nonce',

  addTx: `${INSERT_TX} ON CONFLICT DO NOTHING`,
  // The most frequent write. It changes no index but that of revisions.
  moveTx: `UPDATE tx SET revision = ?1, stage = ?2, body = ?3
    WHERE chain = ?4 AND id = ?5 AND lane = ?6 AND sequence = ?7 AND (ended_ms IS NOT NULL) = ?8`,
  // The age of a transaction counts from its first end.
  putTx: `${INSERT_TX}
    ON CONFLICT DO UPDATE SET sequence = excluded.sequence, revision = excluded.revision, stage = excluded.stage,
      ended_ms = CASE WHEN excluded.ended_ms IS NOT NULL THEN coalesce(ended_ms, excluded.ended_ms) END,
      body = excluded.body WHERE lane = excluded.lane AND sequence <= excluded.sequence`,
  restartTx: `UPDATE tx SET lane = ?3, sequence = ?4, revision = ?5, stage = ?6, ended_ms = NULL, body = ?8, created_ms = ?9,
      arrival = ?4, group_name = ?10
    WHERE chain = ?1 AND id = ?2 AND lane = ?11 AND sequence = ?12 AND stage IN ('failed', 'cancelled') AND NOT ?7`,
  handTx: `UPDATE tx SET lane = ?1, sequence = ?2, revision = ?3, body = ?4
    WHERE chain = ?5 AND id = ?6 AND lane = ?7 AND stage = 'queued'`,
  txById: 'SELECT body, lane, ended_ms AS endedMs FROM tx WHERE chain = ? AND id = ?',
  txByHash: 'SELECT body FROM hash JOIN tx ON tx.key = hash.tx WHERE hash.chain = ? AND hash = ?',
  openTxs: 'SELECT body FROM tx WHERE lane = ? AND ended_ms IS NULL ORDER BY sequence',
  arrivedTxs: 'SELECT body FROM tx WHERE lane = ? AND sequence > ? ORDER BY sequence LIMIT ?',
  changedTxs: 'SELECT body, revision FROM tx WHERE lane = ? AND revision > ? ORDER BY revision LIMIT ?',
  list: listOf(''),
  listGroup: listOf('AND group_name = ?7'),

  // The slot of a deleted transaction may be written once more.
  putHash: `INSERT INTO hash (chain, hash, tx) SELECT ?1, ?2, key FROM tx WHERE chain = ?1 AND id = ?3
    ON CONFLICT DO UPDATE SET tx = excluded.tx`,

  addCommand: 'INSERT INTO command (lane, sequence, id, body) VALUES (?, ?, ?, ?)',
  commands:
    'SELECT sequence, id, body FROM command WHERE lane = ? AND sequence > ? ORDER BY sequence LIMIT ?',
  firstCommand: 'SELECT min(sequence) AS sequence FROM command WHERE lane = ?',
  dropCommandsFor: 'DELETE FROM command WHERE lane = ? AND id = ?',
  dropCommands: 'DELETE FROM command WHERE lane = ? AND sequence <= ?',

  addOutbox: 'INSERT INTO outbox (name) VALUES (?) ON CONFLICT DO NOTHING',
  takeOutbox: `UPDATE outbox SET ${TAKE} WHERE name = ?3 AND ${MAY_TAKE}`,
  outbox: `SELECT key, epoch, holder, written, ${IS_HELD} AS isHeld FROM outbox WHERE name = ?`,
  releaseOutbox: 'UPDATE outbox SET holder = NULL WHERE name = ? AND epoch = ? AND holder = ?',
  wroteOutbox: 'UPDATE outbox SET written = 1 WHERE key = ? AND written = 0',
  readLane: `INSERT INTO outbox_lane (outbox, lane, revision) VALUES (?, ?, ?)
    ON CONFLICT DO UPDATE SET revision = max(revision, excluded.revision)`,
  behindLanes: `SELECT chain_id AS chainId, genesis, address, lane.revision, coalesce(o.revision, 0) AS read
    FROM lane JOIN chain ON chain.key = lane.chain
    LEFT JOIN outbox_lane o ON o.lane = lane.key AND o.outbox = ?
    WHERE lane.revision > coalesce(o.revision, 0)`,
  putDelivery: `INSERT INTO delivery (tx, outbox, state, body) SELECT key, ?3, ?4, ?5 FROM tx WHERE chain = ?1 AND id = ?2
    ON CONFLICT DO UPDATE SET state = excluded.state, body = excluded.body`,
  deliveryOf: `SELECT delivery.body FROM tx JOIN delivery ON delivery.tx = tx.key AND delivery.outbox = ?3
    WHERE tx.chain = ?1 AND tx.id = ?2`,
  // Repeats the condition of the partial index, so that SQLite uses it.
  deliveriesIn: `SELECT body FROM delivery WHERE outbox = ? AND state = ? AND state IN ('open', 'dead') LIMIT ?`,
  countDeliveries: `SELECT count(*) AS count FROM delivery WHERE outbox = ? AND state = ? AND state IN ('open', 'dead')`,

  oldest: `SELECT key FROM tx WHERE ended_ms < ${NOW_MS} - ? ORDER BY ended_ms LIMIT ?`,
  dropTx: 'DELETE FROM tx WHERE key = ?',
  dropHashes: 'DELETE FROM hash WHERE tx = ?',
} as const
