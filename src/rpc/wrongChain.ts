import type { MessageGroup } from './messages.js'

/**
 * A lane signs for the chain that its endpoints showed. A node that sends this message is on another chain
 * now, and the bytes are valid on their own chain.
 */
export const WRONG_CHAIN: MessageGroup = {
  outcome: 'refused',
  reason: 'wrongChain',
  rows: [
    'invalid chain id for signer',
    'invalid chain id',
    'invalidtxchainid',
    'wrong chainid',
    'invalid chainid … provided, expected…',
    'invalid chain id (…) for chain with id …',
    'trying to send a raw transaction with an invalid chainid…',
    'incompatible eip-155 transaction, signed for another chain',
    'trying to send an incompatible eip-155 transaction, signed for another chain',
  ],
}
