import type { Hash } from 'viem'
import { TxlaneError } from '../../errors/base.js'
import type { ChainKey, Store } from '../../types/store.js'
import type { EndpointPool } from './endpointPool.js'

/** In a chain's name where its genesis was not to be had: such a chain is told apart by its id alone. */
export const NO_GENESIS: Hash = `0x${'0'.repeat(64)}`

/**
 * The name under which the store keeps the chain, and with it every lane and id. The name is the one of the first
 * opening: whether an endpoint shows block 0 at one moment changes nothing, or a restart at another moment would look
 * for its transactions under another name, find none, and send them again.
 *
 * @throws `REJECTED` where no endpoint shows block 0 now and the store keeps more than one chain with this id
 * @throws `CHAIN_MISMATCH` where the endpoints are held against another chain already
 */
export async function chainOf(endpointPool: EndpointPool, store: Store): Promise<ChainKey> {
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
