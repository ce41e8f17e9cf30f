import { type Address, toHex } from 'viem'
import { NO_GENESIS } from '../../../src/chain/endpoints/chainOf.js'
import type { Stage } from '../../../src/types/index.js'
import type { ChainKey, LaneKey, Store, StoredTransaction } from '../../../src/types/store.js'
import type { Connection } from './connect.js'

const PAGE = 500

/** The transactions of one account in a store, without opening its lane. */
export async function* storedTransactions(
  store: Store,
  connection: Connection,
  address: Address,
  stage?: Stage,
): AsyncGenerator<StoredTransaction> {
  const lower = address.toLowerCase() as Address
  for (const chain of await chainsOf(connection)) {
    const key: LaneKey = { ...chain, address: lower }
    let cursor: string | undefined
    do {
      const page = await store.list([key], { stage, limit: PAGE, cursor })
      yield* page.items
      cursor = page.cursor
    } while (cursor !== undefined)
  }
}

/** The possible keys of the chain. The store is only queried, so that it does not create a lane. */
export async function chainsOf({ client, chain }: Connection): Promise<readonly ChainKey[]> {
  const first = await client
    .request({ method: 'eth_getBlockByNumber', params: [toHex(0), false] })
    .catch(() => null)
  const names = first?.hash ? [first.hash, NO_GENESIS] : [NO_GENESIS]
  return names.map((genesisHash) => ({ chainId: chain.id, genesisHash }))
}
