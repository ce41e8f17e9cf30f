import { type Chain, defineChain } from 'viem'
import type { Store } from '../../src/types/store.js'
import type { ChainSettings, StoreSettings } from './settings.js'

// What a child opens of what it was given.

/** Each store brings a driver, and half of them would be loaded for nothing. */
export async function openStore(settings: StoreSettings, poolMax: number): Promise<Store> {
  if (settings.kind === 'sqlite') {
    const { sqliteStore } = await import('../../src/store/sqlite/index.js')
    // No power is lost here: what was committed survives the process with either setting.
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
