import { isTxlaneError, TxlaneError } from '../../errors/base.js'
import {
  type Enqueued,
  type LaneKey,
  laneName,
  lanesOf,
  type Store,
  type StoredTransaction,
  transactionName,
} from '../../types/store.js'
import { encodeBody } from '../codec.js'
import { hasEnded } from '../ended.js'
import { type Context, lined, lines, list, listed, listedValuesOf, nameOf, transactionOf } from './context.js'
import type { Row } from './driver.js'
import { halfDone } from './failure.js'
import { addLanes } from './leases.js'

// A second try is needed if a lane is new, or if a known transaction was deleted between two statements.
const TRIES_MAX = 5

/** The methods that any process may call. */
export function intakeVerbs(
  context: Context,
): Pick<Store, 'enqueue' | 'restart' | 'postCommand'> & Pick<Gathered, 'idle'> {
  const { database, schema, channel } = context
  const sql = enqueueStatements(schema)

  /** The transactions that were added, by name, with their sequence in the lane. */
  async function add(transactions: readonly StoredTransaction[]): Promise<ReadonlyMap<string, number>> {
    const lanes = lanesOf(transactions)
    const values = [...valuesOf(lanes, transactions), channel, ...listedValuesOf(transactions)]
    const statement = { text: sql.enqueue, values }
    let rows = await database.change(statement)
    if (rows.length === 0) {
      await addLanes(context, lanes)
      rows = await database.change(statement)
    }
    const added = rows.filter(({ id }) => id !== null)
    return new Map(added.map((row) => [addedName(lanes, row), Number(row.sequence)]))
  }

  async function stored(transactions: readonly StoredTransaction[]): Promise<readonly StoredTransaction[]> {
    const names = transactions.map(({ lane }) => nameOf(lane))
    const ids = transactions.map(({ id }) => id)
    const values = [names.map(([chainId]) => chainId), names.map(([, genesisHash]) => genesisHash), ids]
    return (await database.read({ text: sql.stored, values })).map(transactionOf)
  }

  return {
    ...gathered(enqueue),
    async restart(transaction, ended) {
      const { lane, id, createdAtMs, group = null } = transaction
      const of = [...nameOf(lane), id, encodeBody(transaction), createdAtMs, group]
      const values = [...of, ended.lane.address, ended.sequence, channel]
      const restarted = () => database.change({ text: sql.restart, values })
      // A lane that was never used has no row.
      let [row] = await restarted()
      if (row === undefined && lane.address !== ended.lane.address) {
        await addLanes(context, [lane])
        row = (await restarted())[0]
      }
      if (row === undefined) return (await enqueue([transaction]))[0] as Enqueued
      return { fresh: true, transaction: { ...transaction, sequence: Number(row.sequence) } }
    },
    async postCommand(chain, id, command) {
      const values = [chain.chainId, chain.genesisHash, id, encodeBody(command), channel]
      return (await database.change({ text: sql.postCommand, values })).length > 0
    },
  }

  async function enqueue(asked: readonly StoredTransaction[]): Promise<readonly Enqueued[]> {
    const results = new Map<string, Enqueued>()
    let open = firstOfEach(asked)
    try {
      for (let tries = 1; open.length > 0 && tries <= TRIES_MAX; tries++) {
        const added = await add(open)
        for (const one of open) {
          const sequence = added.get(txName(one))
          if (sequence !== undefined)
            results.set(txName(one), { fresh: true, transaction: { ...one, sequence } })
        }
        open = open.filter((one) => !results.has(txName(one)))
        if (open.length === 0) break
        for (const before of await stored(open))
          results.set(txName(before), { fresh: false, transaction: before })
        open = open.filter((one) => !results.has(txName(one)))
      }
      return inOrder(asked, results)
    } catch (error) {
      // If some transactions were stored and will be sent, the caller must not take this failure for a
      // certain one.
      throw [...results.values()].some(({ fresh }) => fresh) ? halfDone(error) : error
    }
  }
}

function txName({ lane, id }: StoredTransaction): string {
  return transactionName(lane, id)
}

function addedName(lanes: readonly LaneKey[], row: Row): string {
  const lane = lanes[Number(row.lane) - 1]
  return lane === undefined ? '' : transactionName(lane, String(row.id))
}

/** Keeps the first of several transactions with one id, as if they had arrived one after the other. */
function firstOfEach(transactions: readonly StoredTransaction[]): StoredTransaction[] {
  const first = new Map<string, StoredTransaction>()
  for (const one of transactions) if (!first.has(txName(one))) first.set(txName(one), one)
  return [...first.values()]
}

function inOrder(
  asked: readonly StoredTransaction[],
  results: ReadonlyMap<string, Enqueued>,
): readonly Enqueued[] {
  const taken = new Set<string>()
  return asked.map((one) => {
    const name = txName(one)
    const result = results.get(name)
    if (result === undefined) {
      throw new TxlaneError('An id was deleted and added again repeatedly during the call.', {
        code: 'STORE',
        fate: 'notExecuted',
      })
    }
    const again = taken.has(name)
    taken.add(name)
    return again ? { ...result, fresh: false } : result
  })
}

/**
 * Parameters `$1` to `$12` of the statement: the lanes, then the rows, which refer to their lane by its
 * index.
 */
function valuesOf(lanes: readonly LaneKey[], transactions: readonly StoredTransaction[]): unknown[] {
  const places = new Map(lanes.map((lane, index) => [laneName(lane), index + 1]))
  const counts = new Map<number, number>()
  const rows = transactions.map((transaction) => {
    const lane = places.get(laneName(transaction.lane)) ?? 0
    const nth = (counts.get(lane) ?? 0) + 1
    counts.set(lane, nth)
    return { lane, nth, transaction }
  })
  return [
    lanes.map(({ chainId }) => chainId),
    lanes.map(({ genesisHash }) => genesisHash),
    lanes.map(({ address }) => address),
    lanes.map((_, index) => counts.get(index + 1) ?? 0),
    lanes.map(laneName),
    list(rows.map(({ lane }) => lane)),
    list(rows.map(({ nth }) => nth)),
    rows.map(({ transaction }) => transaction.id),
    list(rows.map(({ transaction }) => transaction.stage)),
    list(rows.map(({ transaction }) => hasEnded(transaction.stage))),
    lines(rows.map(({ transaction }) => encodeBody(transaction))),
    list(rows.map(({ transaction }) => transaction.hash ?? '')),
  ]
}

const enqueueStatements = (schema: string) => ({
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
    SELECT p.place AS lane, NULL AS id, NULL AS sequence, pg_notify($13, p.notice)::text AS notified FROM placed p
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
    SELECT lane.sequence, pg_notify($10, lane.name || ' ' || lane.sequence)::text AS notified FROM lane, restarted`,

  /** The stored transaction of each id. */
  stored: `
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

type Call = {
  readonly transactions: readonly StoredTransaction[]
  readonly resolve: (answers: readonly Enqueued[]) => void
  readonly reject: (error: unknown) => void
}

/** The number of transactions that one statement stores. A larger single call goes alone. */
const TOGETHER_MAX = 500

type Gathered = {
  readonly enqueue: Store['enqueue']
  /** Resolves when all calls are answered. */
  idle(): Promise<void>
}

/**
 * Combines `enqueue` calls of all lanes: calls that arrive while the store is busy go together as the next
 * call. A pool makes a call for each of its lanes, and each would be a commit. PostgreSQL serialises commits
 * that notify (`PreCommit_Notify` takes a lock of the whole server, src/backend/commands/async.c).
 */
export function gathered(enqueue: Store['enqueue']): Gathered {
  const waiting: Call[] = []
  let running: Promise<void> | undefined

  async function run(): Promise<void> {
    // Calls made in the same turn are combined too.
    await Promise.resolve()
    while (waiting.length > 0) await askTogether(taken())
    running = undefined
  }

  function taken(): readonly Call[] {
    let size = 0
    const fit = waiting.findIndex(({ transactions }, index) => {
      size += transactions.length
      return index > 0 && size > TOGETHER_MAX
    })
    return waiting.splice(0, fit < 0 ? waiting.length : fit)
  }

  async function askTogether(calls: readonly Call[]): Promise<void> {
    if (calls.length === 1) return ask(calls[0] as Call)
    try {
      const answers = await enqueue(calls.flatMap(({ transactions }) => transactions))
      let from = 0
      for (const { transactions, resolve } of calls) {
        resolve(answers.slice(from, from + transactions.length))
        from += transactions.length
      }
    } catch (error) {
      // One of the calls cannot be stored, so nothing was stored. Each call is repeated alone, to get its own
      // result.
      if (isTxlaneError(error) && error.code === 'INVALID') for (const call of calls) await ask(call)
      else for (const { reject } of calls) reject(error)
    }
  }

  async function ask({ transactions, resolve, reject }: Call): Promise<void> {
    await enqueue(transactions).then(resolve, reject)
  }

  return {
    enqueue: (transactions) =>
      new Promise((resolve, reject) => {
        waiting.push({ transactions, resolve, reject })
        running ??= run()
      }),
    idle: async () => running,
  }
}
