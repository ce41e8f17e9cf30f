import type { Hash } from 'viem'
import type { Tx, TxRecord, WaitReason } from '../types.js'
import type { ListOptions } from './input/validateCalls.js'
import type { OpenLane } from './lane/open.js'
import { describe, fromStored } from './transaction/transaction.js'

type Lane = Pick<OpenLane, 'handle' | 'key' | 'store' | 'tenure'>

/** A transaction by its id or by any of its attempts' hashes, whether it has ended or not. */
export async function findTransaction(lane: Lane, by: string | { hash: Hash }): Promise<Tx | undefined> {
  const { transactions, txOf } = lane.handle
  const asked = typeof by === 'string' ? { id: by } : { hash: by.hash.toLowerCase() as Hash }
  const live = lane.tenure.seat.live(asked)
  if (live) return txOf(live)
  const stored = await lane.store.find(lane.key, asked)
  // Ids are one per chain. Another account's transaction is followed by its own lane, and by no other.
  if (stored === undefined || stored.lane.address !== lane.key.address) return undefined
  const known = transactions.get(stored.id)
  if (known) return txOf(known)
  const transaction = fromStored(stored)
  lane.tenure.seat.met(transaction)
  return txOf(transaction)
}

const LIMIT_DEFAULT = 100

/** A page of the lane's transactions, newest first. Stages of the unfinished ones are as they are now. */
export async function listTransactions(
  lane: Lane,
  options: ListOptions,
): Promise<{ items: TxRecord[]; cursor?: string }> {
  const { stage, limit = LIMIT_DEFAULT, cursor } = options
  const { seat } = lane.tenure
  await seat.flushed()
  const page = await lane.store.list(lane.key, { stage, limit, cursor })
  const items = page.items.map((stored): TxRecord => {
    const { id, nonce, hash } = stored
    const live = seat.live({ id })
    if (live) return withReason(describe(live), lane.handle.operations?.waitingFor(live))
    return {
      id,
      stage: stored.stage,
      ...(nonce === undefined ? {} : { nonce }),
      ...(hash === undefined ? {} : { hash }),
      ...(stored.waiting === undefined ? {} : { waitingFor: stored.waiting.sentence }),
    }
  })
  return page.cursor === undefined ? { items } : { items, cursor: page.cursor }
}

function withReason(record: TxRecord, reason: WaitReason | undefined): TxRecord {
  return reason === undefined ? record : { ...record, waitingFor: reason.sentence }
}
