import { existsSync } from 'node:fs'
import { getTransactionCount } from 'viem/actions'
import { sqliteStore } from '../../../../src/store/sqlite/index.js'
import type { Connection } from '../../shared/connect.js'
import { count } from '../../shared/output.js'
import { Refusal } from '../../shared/program.js'
import { storedTransactions } from '../../shared/storedTransactions.js'
import type { Row } from '../file/rows.js'
import { blockTimes } from './blockTimes.js'
import { type Journal, type JournalFiles, unmovedIn } from './journal.js'
import { lastAttempt, type Standings, type Stored, standingsOf } from './standing.js'

/** The transaction that stands for a row, among those of the database. */
export type FindAttempt = (known: ReadonlyMap<string, Stored>) => (row: Row) => Stored | undefined

/**
 * The state of the lines in the database of earlier runs. It starts nothing.
 * @throws Refusal if the database has lost them
 */
export async function readStandings(
  files: JournalFiles,
  journal: Journal,
  connection: Connection,
  rows: readonly Row[],
  find: FindAttempt = lastAttempt,
): Promise<Standings> {
  const known = existsSync(files.database)
    ? await knownIn(files, journal, connection)
    : new Map<string, Stored>()
  if (known.size === 0) await checkUnsent(files, journal, connection)
  const standings = standingsOf(rows, find(known), unmovedIn(journal))
  return { ...standings, between: await between(connection, standings) }
}

async function knownIn(
  files: JournalFiles,
  journal: Journal,
  connection: Connection,
): Promise<ReadonlyMap<string, Stored>> {
  const store = sqliteStore({ path: files.database })
  try {
    const known = new Map<string, Stored>()
    for await (const each of storedTransactions(store, connection, journal.account)) {
      const { id, stage, status, block, hash } = each
      known.set(id, { stage, status, block, hash })
    }
    return known
  } finally {
    await store.close()
  }
}

/**
 * A database that was copied without its log may be empty, and each line would be paid again. For a run that was
 * killed before it created one, this only confirms the journal.
 * @throws Refusal if the account has sent transactions since the payout began
 */
async function checkUnsent(
  { database, journal: path }: JournalFiles,
  { account, begunAt, sentBefore }: Journal,
  { client }: Connection,
): Promise<void> {
  if (sentBefore === undefined) return
  const sent = await getTransactionCount(client, { address: account, blockTag: 'pending' }).catch(() =>
    getTransactionCount(client, { address: account, blockTag: 'latest' }),
  )
  if (sent <= sentBefore) return
  const state = existsSync(database)
    ? `contains no transaction: was it copied without ${database}-wal? Restore both.`
    : 'is missing. Restore it.'
  throw new Refusal(
    `${path} says that this file was begun on ${begunAt}, and ${account} has sent ${count(sent - sentBefore, 'transaction')} since. ${database} ${state} If you know that no line was paid, remove ${path} and ${database}.`,
  )
}

async function between({ client }: Connection, { blocks }: Standings): Promise<Standings['between']> {
  if (blocks === undefined) return undefined
  const [first, last] = blocks.map(BigInt) as [bigint, bigint]
  const times = await blockTimes(client, [first, last])
  const [from, to] = [times.get(first), times.get(last)]
  return from === undefined || to === undefined ? undefined : [from, to]
}
