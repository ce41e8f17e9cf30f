import { join } from 'node:path'
import { toHex } from 'viem'
import { findAnvil } from '../../../tools/devnet/anvilProcess.js'
import { counted, dropped, INTRINSIC, MINED, POOLED, refused } from '../refusals/names.js'
import { markBySnapshot, type NodeDescription } from './description.js'

const AT_THE_BLOCK = 'it finds out when it makes the block'

export const anvil: NodeDescription = {
  name: 'anvil',
  async locate() {
    const file = findAnvil(undefined)
    return (port) => ({ file, args: ['--host', '127.0.0.1', '--port', `${port}`] })
  },
  args: { plain: [], interval: ['--block-time', '1'], manual: ['--no-mining'] },
  async endow(rpc, address, wei) {
    await rpc.call('anvil_setBalance', address, toHex(wei))
  },
  async mine(rpc) {
    await rpc.call('evm_mine')
  },
  onDisk: (folder) => ['--state', join(folder, 'state.json')],
  markForRewind: markBySnapshot,
  lacks: { kill: 'it writes its chain when it ends', poolLimits: 'its pool has no limit' },
  burstLimitMs: 120_000,
  refusals: {
    'same bytes, pending': {
      outcome: 'accepted',
      reason: 'alreadyKnown',
      counted: false,
      fate: 'mined',
    },
    'same bytes, mined': {
      ...refused('nonceTooLow'),
      fate: 'mined',
      because: 'they were mined before',
    },
    'nonce too low': refused('nonceTooLow'),
    'replacement at +1 %': MINED,
    'replacement at +9 %': MINED,
    'replacement at +10 %': MINED,
    'gap of 5': POOLED,
    'gap behind 64 others': POOLED,
    'full pool': { leftOut: 'its pool has no limit' },
    'max fee below the base fee': refused('feeTooLow'),
    'tip of 0': MINED,
    'no funds': refused('insufficientFunds'),
    'no funds for the second': dropped('it looks at each transaction alone'),
    'gas below the intrinsic cost': counted('gasLimit'),
    'gas below the floor of EIP-7623': dropped(AT_THE_BLOCK),
    'gas above the block': counted('gasLimit'),
    'gas above 2^24': MINED,
    'another chain': refused('wrongChain'),
    unprotected: MINED,
    'init code of 49,153 bytes': counted('invalid'),
    'data of 131,072 bytes': MINED,
    'type 4 without a tuple': dropped(AT_THE_BLOCK),
    'second of a delegated account': MINED,
    'gapped one of a delegated account': POOLED,
    'delegation of a reserved account': MINED,
    'tip above the max fee': INTRINSIC,
    'signature of no key': counted('invalid'),
    // anvil accepts it; no real chain does.
    'upper half of the curve': MINED,
    'highest nonce': POOLED,
    'fee above one ether': MINED,
    'no transaction at all': counted('invalid'),
  },
}
