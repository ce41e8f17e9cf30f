import type { Hash } from 'viem'
import type { LaneKey, StoredTransaction } from '../../types/store.js'
import { decodeTransaction } from '../codec.js'
import type { Database } from './database.js'
import type { Row } from './driver.js'
import type { Statements } from './sql/index.js'

/** What the verbs are made of. */
export type Context = {
  readonly database: Database
  readonly sql: Statements
  /** What watchers are told on. */
  readonly channel: string
  readonly retentionMs: number
}

/** A lane's name as the first three parameters of a statement. */
export function nameOf(lane: LaneKey): [number, Hash, string] {
  return [lane.chainId, lane.genesisHash, lane.address]
}

/** The body was written before its place was known: the column says it. */
export function transactionOf(row: Row): StoredTransaction {
  // In place: it is nobody else's yet, and a copy costs as much as reading it.
  return Object.assign(decodeTransaction(String(row.body)), { sequence: Number(row.sequence) })
}

/** Makes rows for lanes that nobody has used before. Two statements, each good by itself. */
export async function addLanes({ database, sql }: Context, lanes: readonly LaneKey[]): Promise<void> {
  const chains = [lanes.map((lane) => lane.chainId), lanes.map((lane) => lane.genesisHash)]
  await database.change({ text: sql.addChains, values: chains })
  await database.change({ text: sql.addLanes, values: [...chains, lanes.map((lane) => lane.address)] })
}
