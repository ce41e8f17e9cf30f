import type { Hash } from 'viem'
import type {
  ChainKey,
  Enqueued,
  LaneCommand,
  LaneWrite,
  Lease,
  StoredTransaction,
} from '../../types/store.js'
import { decodeTransaction, encodeBody } from '../codec.js'
import { hasEnded, isGone } from '../ended.js'
import type { Prepared } from './connection.js'
import { type Keys, type LaneRow, textOf } from './keys.js'
import { fenced, laneRecord } from './leases.js'

type Body = { readonly body: string }

/**
 * Hashes that this process has stored already. A slot is written many times, each time with all its attempts.
 */
export type KnownHashes = { readonly stored: Set<Hash>; readonly fresh: Set<Hash> }

export function write(
  prepared: Prepared,
  keys: Keys,
  hashes: KnownHashes,
  { lease, change }: { readonly lease: Lease; readonly change: LaneWrite },
): void {
  const row = fenced(prepared, keys, lease)
  let { revision } = row.record
  const keepHash = (hash: Hash, id: string) => {
    if (hashes.stored.has(hash) || hashes.fresh.has(hash)) return
    const { changes } = prepared.putHash.run(row.chain, hash, textOf(id))
    // If the transaction is not stored yet, the hash is tried again.
    if (changes > 0) hashes.fresh.add(hash)
  }
  for (const transaction of change.transactions) {
    if (transaction.lane.address !== lease.lane.address) {
      handTx(prepared, keys, row, transaction)
      continue
    }
    putTx(prepared, row, transaction, ++revision)
    if (transaction.hash) keepHash(transaction.hash, transaction.id)
  }
  for (const slot of change.slots) {
    if (isGone(slot)) prepared.dropSlot.run(row.lane, slot.nonce)
    else prepared.putSlot.run(row.lane, slot.nonce, encodeBody(slot))
    for (const { hash, claim } of slot.attempts) if (claim !== undefined) keepHash(hash, claim)
  }
  prepared.wrote.run(change.cursor, revision, row.lane)
  if (change.commandsDoneUpTo !== undefined) prepared.dropCommands.run(row.lane, change.commandsDoneUpTo)
}

function putTx(prepared: Prepared, row: LaneRow, transaction: StoredTransaction, revision: number): void {
  const all = txRow(row, transaction, revision)
  const [chain, id, lane, sequence, , stage, ended, body] = all
  const moved = prepared.moveTx.run(revision, stage, body, chain, id, lane, sequence, ended)
  if (moved.changes === 0) prepared.putTx.run(...all)
}

/**
 * Hands a transaction off to another lane, where it arrives as the last one. Only once: a late write finds it
 * gone.
 */
function handTx(prepared: Prepared, keys: Keys, from: LaneRow, transaction: StoredTransaction): void {
  const to = keys.lane(prepared, transaction.lane)
  const { sequence, revision } = laneRecord(prepared, to.lane)
  const [chain, id, lane, ...place] = txRow(to, { ...transaction, sequence: sequence + 1 }, revision + 1)
  const [newSequence, newRevision, , , body] = place
  const handed = prepared.handTx.run(lane, newSequence, newRevision, body, chain, id, from.lane)
  if (handed.changes > 0) prepared.placed.run(newSequence, newRevision, to.lane)
}

function txRow({ chain, lane }: LaneRow, transaction: StoredTransaction, revision: number) {
  const { id, sequence, stage, createdAtMs, group } = transaction
  const ended = hasEnded(stage) ? 1 : 0
  const body = encodeBody(transaction)
  const name = group === undefined ? null : textOf(group)
  return [chain, textOf(id), lane, sequence, revision, stage, ended, body, createdAtMs, name] as const
}

export function enqueue(
  prepared: Prepared,
  keys: Keys,
  transactions: readonly StoredTransaction[],
): readonly Enqueued[] {
  const lanes = new Map<number, { sequence: number; revision: number }>()
  const answers = transactions.map((transaction): Enqueued => {
    const row = keys.lane(prepared, transaction.lane)
    const place = lanes.get(row.lane) ?? { ...laneRecord(prepared, row.lane) }
    lanes.set(row.lane, place)
    const placed = { ...transaction, sequence: place.sequence + 1 }
    if (prepared.addTx.run(...txRow(row, placed, place.revision + 1)).changes === 0) {
      const { body } = prepared.txById.get(row.chain, textOf(transaction.id)) as Body
      return { fresh: false, transaction: decodeTransaction(body) }
    }
    place.sequence++
    place.revision++
    return { fresh: true, transaction: placed }
  })
  for (const [lane, { sequence, revision }] of lanes) prepared.placed.run(sequence, revision, lane)
  return answers
}

/** Restarts an id. It happens once: a second call finds the new transaction under the id. */
export function restart(
  prepared: Prepared,
  keys: Keys,
  transaction: StoredTransaction,
  ended: StoredTransaction,
): Enqueued {
  const row = keys.lane(prepared, transaction.lane)
  const from = keys.lane(prepared, ended.lane)
  const { sequence, revision } = laneRecord(prepared, row.lane)
  const placed = { ...transaction, sequence: sequence + 1 }
  const values = txRow(row, placed, revision + 1)
  if (prepared.restartTx.run(...values, from.lane, ended.sequence).changes === 0)
    return enqueue(prepared, keys, [transaction])[0] as Enqueued
  prepared.placed.run(sequence + 1, revision + 1, row.lane)
  prepared.dropCommandsFor.run(from.lane, textOf(transaction.id))
  return { fresh: true, transaction: placed }
}

/** The transaction that the command is for; undefined if there is none. */
export function postCommand(
  prepared: Prepared,
  keys: Keys,
  chain: ChainKey,
  { id, command }: { readonly id: string; readonly command: LaneCommand },
): StoredTransaction | undefined {
  const chainKey = keys.findChain(prepared, chain)
  if (chainKey === undefined) return undefined
  const found = prepared.txById.get(chainKey, textOf(id)) as
    | (Body & { readonly lane: number; readonly endedMs: number | null })
    | undefined
  if (found === undefined || found.endedMs !== null) return undefined
  const { sequence, revision } = laneRecord(prepared, found.lane)
  prepared.addCommand.run(found.lane, sequence + 1, textOf(id), encodeBody(command))
  prepared.placed.run(sequence + 1, revision, found.lane)
  return decodeTransaction(found.body)
}
