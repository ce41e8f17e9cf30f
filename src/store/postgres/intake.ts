import { TxlaneError } from '../../errors/base.js'
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
import { type Gathered, gathered } from '../gathered.js'
import { addLanes, type Context, nameOf, transactionOf } from './context.js'
import type { Row } from './driver.js'
import { halfDone } from './failure.js'
import { lines, list, listedValuesOf } from './sql/lists.js'

// A second try is needed if a lane is new, or if a known transaction was deleted between two statements.
const TRIES_MAX = 5

/** The methods that any process may call. */
export function intakeVerbs(
  context: Context,
): Pick<Store, 'enqueue' | 'restart' | 'postCommand'> & Pick<Gathered, 'idle'> {
  const { database, sql, channel } = context

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

  async function kept(transactions: readonly StoredTransaction[]): Promise<readonly StoredTransaction[]> {
    const names = transactions.map(({ lane }) => nameOf(lane))
    const ids = transactions.map(({ id }) => id)
    const values = [names.map(([chainId]) => chainId), names.map(([, genesisHash]) => genesisHash), ids]
    return (await database.read({ text: sql.kept, values })).map(transactionOf)
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
        for (const before of await kept(open))
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
