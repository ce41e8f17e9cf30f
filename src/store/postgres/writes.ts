import { TxlaneError } from '../../errors/base.js'
import {
  type LaneKey,
  type LaneState,
  type LaneWrite,
  type Lease,
  laneName,
  lanesOf,
  type Store,
  type StoredTransaction,
} from '../../types/store.js'
import { decodeSlot, encodeBody } from '../codec.js'
import { hasEnded, isGone } from '../ended.js'
import { laneLost } from '../leaseLost.js'
import { arrivedUpTo } from '../page.js'
import { type Context, lined, lines, list, listed, listedValuesOf, nameOf, transactionOf } from './context.js'
import type { Row } from './driver.js'
import { addLanes } from './leases.js'
import type { Pruner } from './prune.js'

// Each refusal returns the current fence. Only concurrent writes of the same owner can overtake it again.
const TRIES_MAX = 50

/**
 * The methods of the lease owner. Writes and loads are numbered, and the lane's row stores the newest number
 * (the fence). A write whose answer was lost, and that is still in transit when the lane is read again, is
 * refused by the fence. So it cannot undo decisions based on that reading.
 */
export function holderVerbs(context: Context, pruner: Pruner): Pick<Store, 'load' | 'write'> {
  const { database, schema, channel } = context
  const sql = writeStatements(schema)
  let numbered = 0

  async function catchUp(lease: Lease): Promise<void> {
    const [row] = await database.read({ text: sql.fence, values: leaseOf(lease) })
    if (row === undefined) throw laneLost()
    numbered = Math.max(numbered, Number(row.fence))
  }

  /** Runs a statement that finds no lane if its number or its lease is not the newest. */
  async function numberedChange(
    lease: Lease,
    text: string,
    values: readonly unknown[],
  ): Promise<readonly Row[]> {
    for (let tries = 1; tries <= TRIES_MAX; tries++) {
      const rows = await database.change({ text, values: [...leaseOf(lease), ++numbered, ...values] })
      if (rows.length > 0) return rows
      await catchUp(lease)
    }
    throw new TxlaneError('Other writes of the same lease owner repeatedly went before this one.', {
      code: 'STORE',
      fate: 'notExecuted',
    })
  }

  async function hand(lease: Lease, transactions: readonly StoredTransaction[]): Promise<void> {
    const lanes = lanesOf(transactions)
    const values = [...handedValuesOf(lanes, transactions), channel]
    const [row] = await numberedChange(lease, sql.hand, values)
    if (Number(row?.placed) === lanes.length) return
    await addLanes(context, lanes)
    await numberedChange(lease, sql.hand, values)
  }

  return {
    async load(lease) {
      const [shut] = await database.change({ text: sql.shut, values: [...leaseOf(lease), numbered] })
      if (shut === undefined) throw laneLost()
      numbered = Math.max(numbered, Number(shut.fence))
      return stateOf(await database.read({ text: sql.load, values: leaseOf(lease) }))
    },
    async write(lease, change) {
      const isOwn = ({ lane }: StoredTransaction) => lane.address === lease.lane.address
      const handed = change.transactions.filter((one) => !isOwn(one))
      // Hand-offs go first and are independent: if the rest fails, the whole write is repeated, and
      // transactions already handed off stay so.
      if (handed.length > 0) await hand(lease, handed)
      const own = handed.length > 0 ? { ...change, transactions: change.transactions.filter(isOwn) } : change
      const written = latestOf(own.transactions)
      const values = [...valuesOf(own, written), channel, laneName(lease.lane), ...listedValuesOf(written)]
      await numberedChange(lease, sql.write, values)
      pruner.wrote()
    },
  }
}

/**
 * Parameters `$7` to `$12` of the hand-off: the lanes, then the rows, which refer to their lane by its index.
 */
function handedValuesOf(lanes: readonly LaneKey[], transactions: readonly StoredTransaction[]): unknown[] {
  const byId = [...new Map(transactions.map((one) => [one.id, one])).values()]
  const handed = lanes.map(({ address }) => byId.filter(({ lane }) => lane.address === address))
  const rows = handed.flatMap((of, lane) =>
    of.map((transaction, nth) => ({ lane: lane + 1, nth: nth + 1, transaction })),
  )
  return [
    lanes.map(({ address }) => address),
    handed.map(({ length }) => length),
    list(rows.map(({ lane }) => lane)),
    list(rows.map(({ nth }) => nth)),
    rows.map(({ transaction }) => transaction.id),
    lines(rows.map(({ transaction }) => encodeBody(transaction))),
  ]
}

function leaseOf({ lane, epoch, holder }: Lease): unknown[] {
  return [...nameOf(lane), epoch, holder]
}

function stateOf(rows: readonly Row[]): LaneState {
  const lane = rows.find(({ kind }) => kind === 'lane')
  if (lane === undefined) throw laneLost()
  const command = rows.find(({ kind }) => kind === 'command')
  return {
    slots: rows.filter(({ kind }) => kind === 'slot').map(({ body }) => decodeSlot(String(body))),
    transactions: rows
      .filter(({ kind }) => kind === 'transaction')
      .map(transactionOf)
      .sort((a, b) => a.sequence - b.sequence),
    cursor: lane.cursor === null ? undefined : Number(lane.cursor),
    arrived: arrivedUpTo(Number(lane.sequence), command && Number(command.sequence)),
  }
}

const latestOf = (transactions: readonly StoredTransaction[]) => [
  ...new Map(transactions.map((one) => [one.id, one])).values(),
]

/** Parameters `$7` to `$19` of the write. */
function valuesOf(change: LaneWrite, transactions: readonly StoredTransaction[]): unknown[] {
  // The last entry for a key counts, because one statement may touch a row only once.
  const slots = [...new Map(change.slots.map((slot) => [slot.nonce, slot])).values()]
  const kept = slots.filter((slot) => !isGone(slot))
  const hashes = hashesOf(change)
  const written = new Set(transactions.map(({ id }) => id))
  return [
    change.cursor,
    list(slots.filter(isGone).map(({ nonce }) => nonce)),
    list(kept.map(({ nonce }) => nonce)),
    lines(kept.map(encodeBody)),
    change.commandsDoneUpTo ?? null,
    transactions.map(({ id }) => id),
    list(transactions.map(({ sequence }) => sequence)),
    list(transactions.map(({ stage }) => stage)),
    list(transactions.map(({ stage }) => hasEnded(stage))),
    lines(transactions.map(encodeBody)),
    list(hashes.map(([hash]) => hash)),
    hashes.map(([, id]) => id),
    list(hashes.map(([, id]) => written.has(id))),
  ]
}

/**
 * The hashes of every attempt that a transaction ever had, by which it is found. All writers use the same
 * order.
 */
function hashesOf({ slots, transactions }: LaneWrite): [hash: string, id: string][] {
  const hashes = new Map<string, string>()
  for (const { hash, id } of transactions) if (hash !== undefined) hashes.set(hash, id)
  for (const { attempts } of slots) {
    for (const { hash, claim } of attempts) if (claim !== undefined) hashes.set(hash, claim)
  }
  return [...hashes].sort(([a], [b]) => (a < b ? -1 : 1))
}

/** The condition that a lease is still valid. `$1` to `$3`: the lane's key, `$4`: epoch, `$5`: owner. */
const leased = `c.chain = l.chain AND c.chain_id = $1::bigint AND c.genesis_hash = $2::text
  AND l.address = $3::text AND l.epoch = $4::bigint AND l.holder = $5::text`

const writeStatements = (schema: string) => ({
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

  hand: handStatement(schema),
})

/**
 * Moves queued transactions from the lane of a lease (`$1` to `$5`; `$6`: the number of the write) to other
 * lanes. `$7` and `$8`: the lanes, with the number of their rows; `$9` to `$12`: the rows. The rows of all
 * lanes are locked in the same order as by `enqueue`. A transaction that is no longer queued there is
 * ignored.
 */
const handStatement = (schema: string) => `
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
  SELECT (SELECT count(*) FROM placed) AS placed, pg_notify($13, p.notice)::text AS notified
  FROM lane LEFT JOIN placed p ON true`
