import type { MessageGroup } from './messages.js'

/**
 * A lane signs for the chain that its endpoints showed: a node that says this is on another one by now, and the bytes
 * are good where they belong.
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
