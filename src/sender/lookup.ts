import type { Address, Hash } from 'viem'
import type { LaneKey, Store, StoredTransaction } from '../store/store.js'
import type { Tx, TxRecord } from '../types.js'
import type { ListOptions } from './input/validateCalls.js'
import type { OpenLane } from './lane/open.js'
import type { Tenure } from './lane/tenure.js'
import { recordOf } from './transaction/record.js'
import { fromStored } from './transaction/transaction.js'

type Lane = Pick<OpenLane, 'handle' | 'key' | 'store' | 'tenure'> & {
  /** Another lane of the chain and store, where it is open in this process. */
  readonly beside: (address: Address) => Tenure | undefined
}

/** What is known here, and may be newer than what the store says. */
export function liveTransaction({ handle, tenure }: Lane, by: string | { hash: Hash }): Tx | undefined {
  const live = tenure.seat.live(askedBy(by))
  return live && handle.txOf(live)
}

/** A transaction of any account by its id or by any of its attempts' hashes, whether it has ended or not. */
export async function findTransaction(lane: Lane, by: string | { hash: Hash }): Promise<Tx | undefined> {
  const live = liveTransaction(lane, by)
  if (live) return live
  const stored = await lane.store.find(lane.key, askedBy(by))
  if (stored === undefined) return undefined
  const tenure = stored.lane.address === lane.key.address ? lane.tenure : lane.beside(stored.lane.address)
  if (tenure) return foundIn(tenure, stored)
  const stray = lane.handle.strays?.found(stored)
  return stray && lane.handle.txOf(stray)
}

function askedBy(by: string | { hash: Hash }): { id: string } | { hash: Hash } {
  return typeof by === 'string' ? { id: by } : { hash: by.hash.toLowerCase() as Hash }
}

function foundIn({ handle, seat }: Tenure, stored: StoredTransaction): Tx {
  const known = handle.transactions.get(stored.id)
  if (known) return handle.txOf(known)
  const transaction = fromStored(stored)
  seat.met(transaction)
  return handle.txOf(transaction)
}

const LIMIT_DEFAULT = 100

/** A page of the lane's transactions as the store has them. */
export async function listStored(
  store: Store,
  key: LaneKey,
  { stage, limit = LIMIT_DEFAULT, cursor }: ListOptions,
  shown: (stored: StoredTransaction) => TxRecord | undefined = () => undefined,
): Promise<{ items: TxRecord[]; cursor?: string }> {
  const page = await store.list(key, { stage, limit, cursor })
  const items = page.items.map(
    (stored) => shown(stored) ?? recordOf(fromStored(stored), stored.waiting, stored.replaces),
  )
  return page.cursor === undefined ? { items } : { items, cursor: page.cursor }
}

/** A page of the lane's transactions, newest first. Stages of the unfinished ones are as they are now. */
export async function listTransactions(
  lane: Omit<Lane, 'beside'>,
  options: ListOptions,
): Promise<{ items: TxRecord[]; cursor?: string }> {
  const { seat } = lane.tenure
  await seat.flushed()
  return listStored(lane.store, lane.key, options, (stored) => {
    const live = seat.live({ id: stored.id })
    return live && recordOf(live, lane.handle.operations?.waitingFor(live))
  })
}
