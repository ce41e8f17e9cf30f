import { type Address, toHex } from 'viem'
import { NO_GENESIS } from '../../../src/chain/endpoints/chainOf.js'
import type { Stage } from '../../../src/types/index.js'
import type { LaneKey, Store, StoredTransaction } from '../../../src/types/store.js'
import type { Connection } from './connect.js'

const PAGE = 500

/** The transactions of one account in a store, without opening its lane. */
export async function* storedTransactions(
  store: Store,
  connection: Connection,
  address: Address,
  stage?: Stage,
): AsyncGenerator<StoredTransaction> {
  for (const key of await keysOf(connection, address)) {
    let cursor: string | undefined
    do {
      const page = await store.list([key], { stage, limit: PAGE, cursor })
      yield* page.items
      cursor = page.cursor
    } while (cursor !== undefined)
  }
}

/** The possible keys of the lane. The store is only queried, so that it does not create a lane. */
async function keysOf({ client, chain }: Connection, address: Address): Promise<readonly LaneKey[]> {
  const first = await client
    .request({ method: 'eth_getBlockByNumber', params: [toHex(0), false] })
    .catch(() => null)
  const names = first?.hash ? [first.hash, NO_GENESIS] : [NO_GENESIS]
  const lower = address.toLowerCase() as Address
  return names.map((genesisHash) => ({ chainId: chain.id, genesisHash, address: lower }))
}
