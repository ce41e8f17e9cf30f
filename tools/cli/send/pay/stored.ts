import { sqliteStore } from '../../../../src/store/sqlite/index.js'
import type { Connection } from '../../shared/connect.js'
import { storedTransactions } from '../../shared/storedTransactions.js'
import type { Row } from '../file/rows.js'
import { blockTimes } from './blockTimes.js'
import { type Journal, type JournalFiles, unmovedIn } from './journal.js'
import { lastAttempt, type Standings, type Stored, standingsOf } from './standing.js'

/** The transaction that stands for a row, among those of the database. */
export type FindAttempt = (known: ReadonlyMap<string, Stored>) => (row: Row) => Stored | undefined

/** The state of the lines in the database of earlier runs. It starts nothing. */
export async function readStandings(
  files: JournalFiles,
  journal: Journal,
  connection: Connection,
  rows: readonly Row[],
  find: FindAttempt = lastAttempt,
): Promise<Standings> {
  const store = sqliteStore({ path: files.database })
  try {
    const known = new Map<string, Stored>()
    for await (const each of storedTransactions(store, connection, journal.account)) {
      const { id, stage, status, block, hash } = each
      known.set(id, { stage, status, block, hash })
    }
    const standings = standingsOf(rows, find(known), unmovedIn(journal))
    return { ...standings, between: await between(connection, standings) }
  } finally {
    await store.close()
  }
}

async function between({ client }: Connection, { blocks }: Standings): Promise<Standings['between']> {
  if (blocks === undefined) return undefined
  const [first, last] = blocks.map(BigInt) as [bigint, bigint]
  const times = await blockTimes(client, [first, last])
  const [from, to] = [times.get(first), times.get(last)]
  return from === undefined || to === undefined ? undefined : [from, to]
}
