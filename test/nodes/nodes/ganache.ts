import { toHex } from 'viem'
import { nodeFromNpm } from '../find/fromNpm.js'
import { counted, dropped, INTRINSIC, MINED, POOLED, refused } from '../refusals/names.js'
import { markBySnapshot, type NodeDescription } from './description.js'

/** At nonce 0 it executes every transaction, repeatedly, until a block is made. */
const FIRST_NONCE = 1
const OLDER = 'it is older than EIP-7702'

export const ganache: NodeDescription = {
  name: 'ganache',
  async locate(says) {
    const { script, cwd } = await nodeFromNpm('ganache', says)
    const args = [script, '--server.host', '127.0.0.1', '--logging.quiet', '--server.port']
    return (port) => ({ file: process.execPath, args: [...args, `${port}`], cwd })
  },
  args: { plain: [], interval: ['--miner.blockTime', '1'], manual: ['--miner.blockTime', '86400'] },
  async endow(rpc, address, wei) {
    await rpc.call('evm_setAccountBalance', address, toHex(wei))
  },
  firstNonce: FIRST_NONCE,
  async setNonce(rpc, address, nonce) {
    await rpc.call('evm_setAccountNonce', address, toHex(nonce))
  },
  async mine(rpc) {
    await rpc.call('evm_mine')
  },
  onDisk: (folder) => ['--database.dbPath', folder],
  markForRewind: markBySnapshot,
  lacks: {
    delegation: OLDER,
    poolLimits: 'its pool has no limit',
  },
  keepsBack: 'it does not execute transactions that arrived while it made a block, until they are replaced',
  burstLimitMs: 500_000,
  refusals: {
    'same bytes, pending': {
      ...refused('feeTooLow'),
      fate: 'mined',
      because: 'it reports pooled bytes as underpriced',
    },
    'same bytes, mined': {
      ...refused('nonceTooLow'),
      fate: 'mined',
      because: 'they were mined before',
    },
    'nonce too low': refused('nonceTooLow'),
    'replacement at +1 %': refused('feeTooLow'),
    'replacement at +9 %': refused('feeTooLow'),
    'replacement at +10 %': MINED,
    'gap of 5': POOLED,
    'gap behind 64 others': POOLED,
    'full pool': { leftOut: 'its pool has no limit' },
    'max fee below the base fee': dropped('it finds out when it makes the block'),
    'tip of 0': MINED,
    'no funds': refused('insufficientFunds'),
    'no funds for the second': dropped('it looks at each transaction alone'),
    'gas below the intrinsic cost': counted('gasLimit'),
    'gas below the floor of EIP-7623': MINED,
    'gas above the block': counted('gasLimit'),
    'gas above 2^24': MINED,
    'another chain': refused('wrongChain'),
    unprotected: MINED,
    'init code of 49,153 bytes': counted('invalid'),
    'data of 131,072 bytes': MINED,
    'type 4 without a tuple': { leftOut: OLDER },
    'second of a delegated account': { leftOut: OLDER },
    'gapped one of a delegated account': { leftOut: OLDER },
    'delegation of a reserved account': { leftOut: OLDER },
    'tip above the max fee': MINED,
    'signature of no key': INTRINSIC,
    'upper half of the curve': INTRINSIC,
    'highest nonce': POOLED,
    'fee above one ether': MINED,
    'no transaction at all': counted('invalid'),
  },
}
