import type { Address, Chain, Hash } from 'viem'
import { isTxlaneError, TxlaneError } from '../../errors/base.js'
import { askedBy, listedLanes, listStored } from '../../ownership/lookup.js'
import type { OpenLane } from '../../ownership/open.js'
import type { Clock } from '../../platform/clock.js'
import type { ListOptions, RecordPage, Tx } from '../../types/index.js'
import type { LaneKey, Store, StoredTransaction } from '../../types/store.js'
import { RecordHandle } from './recordHandle.js'

/** The part of an open lane that answers questions about records. */
export type ReadableLane = Pick<OpenLane, 'find' | 'key' | 'list'>

/** Reads the records in the store while the lane is not open yet, which takes until an endpoint answers. */
export type Records = {
  /** Waits for the lane for at most one second, because the lane may have newer state than the store. */
  find(by: string | { hash: Hash }, opening: Promise<ReadableLane>): Promise<Tx | undefined>
  list(
    options: ListOptions,
    opening: Promise<ReadableLane>,
    accounts?: readonly Address[],
  ): Promise<RecordPage>
  /** Connects all handles that were found before to the lane, which is open now. */
  opened(lane: ReadableLane): void
}

/** A healthy node has opened the lane by then. Tries with a slow or silent node continue meanwhile. */
const MOMENT_MS = 1_000
/** The number of handles that are kept, the newest ones. An older handle opens the lane by itself when it is used. */
const HANDLES_MAX = 10_000

export function createRecords(parts: {
  readonly chain: Chain
  readonly address: Address
  readonly store: Store
  readonly clock: Clock
  readonly open: () => Promise<ReadableLane>
}): Records {
  const { chain, store, clock, open } = parts
  const address = parts.address.toLowerCase() as Address
  const handles = new Map<string, RecordHandle>()

  /** The lane; `undefined` if it is not open within a second, or if no endpoint answers. */
  function soonOpen(opening: Promise<ReadableLane>): Promise<ReadableLane | undefined> {
    return new Promise((resolve, reject) => {
      const cancel = clock.setTimer(() => resolve(undefined), MOMENT_MS)
      opening
        .then(resolve, (error: unknown) => (isOutage(error) ? resolve(undefined) : reject(error)))
        .finally(cancel)
    })
  }

  /** The key of the lane, from the store alone if possible. Undefined if the store has no records of the chain. */
  async function nameOf(opening: Promise<ReadableLane>): Promise<LaneKey | undefined> {
    const [genesisHash, ...others] = await store.chains({ chainId: chain.id })
    if (genesisHash === undefined) return undefined
    // Several chains share the id. Only an endpoint can say on which of them the lane is.
    if (others.length > 0) return (await opening.catch(undecided(chain.id, others.length + 1))).key
    return { chainId: chain.id, genesisHash, address }
  }

  function handleOf(stored: StoredTransaction, key: LaneKey): Tx {
    const known = handles.get(stored.id)
    if (known) {
      known.learn(stored)
      return known
    }
    const handle = new RecordHandle(stored, { clock, open, read: (id) => store.find(key, { id }) })
    const [oldest] = handles.keys()
    if (oldest !== undefined && handles.size >= HANDLES_MAX) handles.delete(oldest)
    handles.set(stored.id, handle)
    return handle
  }

  return {
    async find(by, opening) {
      const lane = await soonOpen(opening)
      if (lane) return lane.find(by)
      const key = await nameOf(opening)
      if (key === undefined) return undefined
      const stored = await store.find(key, askedBy(by))
      return stored && handleOf(stored, key)
    },
    async list(options, opening, accounts = [address]) {
      const lane = await soonOpen(opening)
      if (lane) return lane.list(options, accounts)
      const key = await nameOf(opening)
      if (key === undefined) return { items: [] }
      return listStored(store, listedLanes(key, options, accounts), options)
    },
    opened(lane) {
      for (const handle of handles.values()) void handle.bind(lane).catch(() => {})
      handles.clear()
    },
  }
}

function isOutage(error: unknown): boolean {
  return isTxlaneError(error) && error.code === 'UNREACHABLE'
}

function undecided(chainId: number, kept: number) {
  return (error: unknown): never => {
    if (!isTxlaneError(error) || !isOutage(error)) throw error
    const message = `No endpoint answered. The store keeps ${kept} chains with the id ${chainId}, and only an endpoint can say which of them this is.`
    throw new TxlaneError(message, { code: 'UNREACHABLE', fate: 'notExecuted', cause: error })
  }
}
