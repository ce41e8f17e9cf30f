import { type Chain, defineChain } from 'viem'
import type { Store } from '../../src/types/store.js'
import type { ChainSettings, StoreSettings } from './settings.js'

// Opens the resources of a child from its order.

/** Loaded on demand, because each store imports a database driver. */
export async function openStore(settings: StoreSettings, poolMax: number): Promise<Store> {
  if (settings.kind === 'sqlite') {
    const { sqliteStore } = await import('../../src/store/sqlite/index.js')
    // There is no power failure here: committed data survive a process with either setting.
    return sqliteStore({ path: settings.path, synchronous: 'NORMAL' })
  }
  const { postgresStore } = await import('../../src/store/postgres/index.js')
  const { connectionString, schema } = settings
  return postgresStore({ connectionString, schema, poolMax })
}

export function chainOf({ url, chainId, blockTimeMs }: ChainSettings): Chain {
  return defineChain({
    id: chainId,
    name: 'sweep',
    nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
    rpcUrls: { default: { http: [url] } },
    blockTime: blockTimeMs,
  })
}
