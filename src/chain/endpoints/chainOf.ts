import type { Hash } from 'viem'
import { TxlaneError } from '../../errors/base.js'
import type { ChainKey, Store } from '../../types/store.js'
import type { EndpointPool } from './endpointPool.js'

/** Stands in the name of a chain whose genesis block no endpoint showed: only its id identifies such a chain. */
export const NO_GENESIS: Hash = `0x${'0'.repeat(64)}`

/**
 * The name under which the store keeps the chain, and with it every lane and id. The first opening decides the name. If it
 * depended on whether an endpoint shows block 0 at this moment, a restart could look for its transactions under another name,
 * find none, and send them again.
 *
 * @throws `REJECTED` if no endpoint shows block 0 now and the store has more than one chain with this id
 * @throws `CHAIN_MISMATCH` if the endpoints were already compared with another chain
 */
export async function chainOf(
  endpointPool: Pick<EndpointPool, 'chainId' | 'expectGenesis' | 'genesisHash'>,
  store: Store,
): Promise<ChainKey> {
  const { chainId, genesisHash: shown } = endpointPool
  const kept = await store.chains({ chainId, genesisHash: shown ?? NO_GENESIS })
  if (shown !== undefined) return { chainId, genesisHash: nameOfShown(shown, kept) }
  const [first, ...others] = kept
  if (first === undefined || others.length > 0) throw unknownChain(chainId, kept)
  // From now on an endpoint that shows another block 0 is on another chain.
  if (first !== NO_GENESIS) endpointPool.expectGenesis(first)
  return { chainId, genesisHash: first }
}

function nameOfShown(shown: Hash, kept: readonly Hash[]): Hash {
  const isUnnamed = kept.length === 1 && kept[0] === NO_GENESIS
  return isUnnamed ? NO_GENESIS : shown
}

function unknownChain(chainId: number, kept: readonly Hash[]): TxlaneError {
  return new TxlaneError(
    `No endpoint shows block 0 now, and the store keeps ${kept.length} chains with the id ${chainId}.`,
    {
      code: 'REJECTED',
      fate: 'notExecuted',
      metaMessages: [
        ...kept.map((genesis) =>
          genesis === NO_GENESIS ? 'genesis hash: unknown' : `genesis hash: ${genesis}`,
        ),
        'Try again when one shows it, or name one that does in `endpoints`, with the role `read`.',
      ],
    },
  )
}
