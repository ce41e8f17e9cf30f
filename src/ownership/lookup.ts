import type { Address, Hash } from 'viem'
import { recordOf } from '../lane/transaction/record.js'
import { fromStored } from '../lane/transaction/stored.js'
import type { ListOptions, RecordPage, Tx, TxRecord } from '../types/index.js'
import type { ChainKey, LaneKey, Store, StoredTransaction } from '../types/store.js'
import type { Tenure } from './laneOwnership.js'
import type { OpenLane } from './open.js'

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
  const tenure = tenureOf(lane, stored.lane.address)
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

/** A page of the transactions of these lanes, newest first, as the store has them, or as they are `shown`. */
export async function listStored(
  store: Pick<Store, 'list'>,
  of: readonly LaneKey[] | ChainKey,
  { createdAfter, createdBefore, limit = LIMIT_DEFAULT, stage, group, cursor }: ListOptions,
  shown: (stored: StoredTransaction) => TxRecord | undefined = () => undefined,
): Promise<RecordPage> {
  const page = await store.list(of, {
    stage,
    group,
    cursor,
    limit,
    createdAfterMs: timeOf(createdAfter),
    createdBeforeMs: timeOf(createdBefore),
  })
  const items = page.items.map((stored) => shown(stored) ?? recordOf(fromStored(stored), stored.waiting))
  return page.cursor === undefined ? { items } : { items, cursor: page.cursor }
}

/** The lanes that a list is of: all of the chain, those of the account that it names, or of these. */
export function listedLanes(
  { chainId, genesisHash }: ChainKey,
  { account }: ListOptions,
  accounts: readonly Address[],
): readonly LaneKey[] | ChainKey {
  if (account === 'any') return { chainId, genesisHash }
  const addresses = account === undefined ? accounts : [account]
  return addresses.map((address) => ({ chainId, genesisHash, address: lowerCase(address) }))
}

const lowerCase = (address: Address) => address.toLowerCase() as Address

/**
 * A page of the transactions of these accounts of the chain and store, newest first. Those that are not finished are as
 * they are now.
 */
export async function listTransactions(
  lane: Lane,
  options: ListOptions,
  accounts: readonly Address[] = [lane.key.address],
): Promise<RecordPage> {
  const of = listedLanes(lane.key, options, accounts)
  const isStage = options.stage !== undefined
  const own = 'chainId' in of ? accounts : of.map(({ address }) => address)
  await Promise.all(own.map((address) => tenureOf(lane, lowerCase(address))?.seat.flushed(isStage)))
  return listStored(lane.store, of, options, (stored) =>
    recordIn(tenureOf(lane, stored.lane.address), stored),
  )
}

function recordIn(tenure: Tenure | undefined, stored: StoredTransaction): TxRecord | undefined {
  const live = tenure?.seat.live({ id: stored.id })
  return live && recordOf(live, tenure?.handle.operations?.waitingFor(live))
}

/** Whoever works the lane of this account in this process. */
function tenureOf({ key, tenure, beside }: Lane, address: Address): Tenure | undefined {
  return address === key.address ? tenure : beside(address)
}

function timeOf(time: ListOptions['createdAfter']): number | undefined {
  return time === undefined ? undefined : new Date(time).getTime()
}
