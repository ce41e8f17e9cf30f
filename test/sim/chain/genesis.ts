import type { Address, Hash } from 'viem'
import type { SimBlock } from './block.js'
import type { ChainSettings } from './options.js'

/** Block 0. Its hash and its chain id distinguish chains. */
export function genesisBlock(settings: ChainSettings, hash: Hash): SimBlock {
  const { accounts, baseFeeWei, clock } = settings
  const withCode = accounts.filter((account) => account.code !== undefined)
  return {
    number: 0,
    hash: `0x${settings.chainId.toString(16).padStart(8, '0')}${hash.slice(10)}`,
    parent: undefined,
    sealed: true,
    timestampS: Math.floor(clock.now() / 1_000),
    baseFeeWei,
    executed: [],
    adjustments: [],
    gasUsed: 0,
    words: {},
    state: {
      accounts: new Map(
        accounts.map(({ address, nonce = 0, balanceWei }) => [lower(address), { nonce, balanceWei }]),
      ),
      storage: new Map(),
      code: new Map(withCode.map(({ address, code }) => [lower(address), code as `0x${string}`])),
    },
  }
}

function lower(address: Address): Address {
  return address.toLowerCase() as Address
}
