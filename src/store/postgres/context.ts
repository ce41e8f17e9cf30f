import type { Hash } from 'viem'
import type { LaneKey, StoredTransaction } from '../../types/store.js'
import { decodeTransaction } from '../codec.js'
import type { Database } from './database.js'
import type { Row } from './driver.js'
import type { Statements } from './sql/index.js'

/** The parts that all store methods share. */
export type Context = {
  readonly database: Database
  readonly sql: Statements
  /** The channel on which watchers are notified. */
  readonly channel: string
  readonly retentionMs: number
}

/** A lane's key as the first three parameters of a statement. */
export function nameOf(lane: LaneKey): [number, Hash, string] {
  return [lane.chainId, lane.genesisHash, lane.address]
}

/** The sequence comes from its column, because the body was written before the sequence was known. */
export function transactionOf(row: Row): StoredTransaction {
  // In place, because no other code has the object yet, and a copy costs as much as reading it.
  return Object.assign(decodeTransaction(String(row.body)), { sequence: Number(row.sequence) })
}

/** Inserts rows for lanes that were never used. The two statements are independent of each other. */
export async function addLanes({ database, sql }: Context, lanes: readonly LaneKey[]): Promise<void> {
  const chains = [lanes.map((lane) => lane.chainId), lanes.map((lane) => lane.genesisHash)]
  await database.change({ text: sql.addChains, values: chains })
  await database.change({ text: sql.addLanes, values: [...chains, lanes.map((lane) => lane.address)] })
}
