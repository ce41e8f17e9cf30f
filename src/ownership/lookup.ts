import type { Address, Hash } from 'viem'
import type { LaneSession } from '../lane/session/laneSession.js'
import { recordOf } from '../lane/transaction/record.js'
import { fromStored } from '../lane/transaction/stored.js'
import type { ListOptions, RecordPage, Tx, TxRecord } from '../types/index.js'
import type { ChainKey, LaneKey, Store, StoredTransaction } from '../types/store.js'
import type { LaneOwnership } from './laneOwnership.js'

/** The part of an open lane that finds transactions. */
type Lane = {
  readonly session: LaneSession
  readonly key: LaneKey
  readonly store: Store
  readonly ownership: LaneOwnership
  /** Another lane of the chain and store, if it is open in this process. */
  readonly beside: (address: Address) => LaneOwnership | undefined
}

/** The transaction as this process knows it, which may be newer than its record in the store. */
export function liveTransaction({ session, ownership }: Lane, by: string | { hash: Hash }): Tx | undefined {
  const live = ownership.worker.findLive(askedBy(by))
  return live && session.txOf(live)
}

/** Finds a transaction of any account by its id or by the hash of an attempt, ended or not. */
export async function findTransaction(lane: Lane, by: string | { hash: Hash }): Promise<Tx | undefined> {
  const live = liveTransaction(lane, by)
  if (live) return live
  const stored = await lane.store.find(lane.key, askedBy(by))
  if (stored === undefined) return undefined
  const ownership = ownershipOf(lane, stored.lane.address)
  if (ownership) return foundIn(ownership, stored)
  const handedOff = lane.session.handedOff?.found(stored)
  return handedOff && lane.session.txOf(handedOff)
}

export function askedBy(by: string | { hash: Hash }): { id: string } | { hash: Hash } {
  return typeof by === 'string' ? { id: by } : { hash: by.hash.toLowerCase() as Hash }
}

function foundIn({ session, worker }: LaneOwnership, stored: StoredTransaction): Tx {
  const known = worker.findLive({ id: stored.id })
  if (known) return session.txOf(known)
  const transaction = fromStored(stored)
  worker.trackFromStore(transaction)
  return session.txOf(transaction)
}

const LIMIT_DEFAULT = 100

/** A page of the transactions of these lanes, newest first, from the records of the store, or as `shown` gives them. */
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

/** The lanes of a list: all of the chain, those of the named account, or those of these accounts. */
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

/** A page of the transactions of these accounts, newest first. Unfinished transactions are shown in their current state. */
export async function listTransactions(
  lane: Lane,
  options: ListOptions,
  accounts: readonly Address[] = [lane.key.address],
): Promise<RecordPage> {
  const of = listedLanes(lane.key, options, accounts)
  const isStage = options.stage !== undefined
  const own = 'chainId' in of ? accounts : of.map(({ address }) => address)
  await Promise.all(own.map((address) => ownershipOf(lane, lowerCase(address))?.worker.flushed(isStage)))
  return listStored(lane.store, of, options, (stored) =>
    recordIn(ownershipOf(lane, stored.lane.address), stored),
  )
}

function recordIn(ownership: LaneOwnership | undefined, stored: StoredTransaction): TxRecord | undefined {
  const live = ownership?.worker.findLive({ id: stored.id })
  return live && recordOf(live, ownership?.session.operations?.waitingFor(live))
}

/** The ownership of the lane of this account in this process. */
function ownershipOf({ key, ownership, beside }: Lane, address: Address): LaneOwnership | undefined {
  return address === key.address ? ownership : beside(address)
}

function timeOf(time: ListOptions['createdAfter']): number | undefined {
  return time === undefined ? undefined : new Date(time).getTime()
}
