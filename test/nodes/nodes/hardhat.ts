import { toHex } from 'viem'
import { nodeFromNpm } from '../find/fromNpm.js'
import { counted, INTRINSIC, MINED, POOLED, refused } from '../refusals/names.js'
import { markBySnapshot, type NodeDescription } from './description.js'

export const hardhat: NodeDescription = {
  name: 'hardhat',
  async locate(says) {
    const { script, cwd } = await nodeFromNpm('hardhat', says)
    const args = [script, 'node', '--hostname', '127.0.0.1', '--port']
    return (port) => ({ file: process.execPath, args: [...args, `${port}`], cwd })
  },
  args: { plain: [], interval: [], manual: [] },
  async begin(rpc, mode) {
    if (mode === 'plain') return
    await rpc.call('evm_setAutomine', false)
    if (mode === 'interval') await rpc.call('evm_setIntervalMining', 1_000)
  },
  async endow(rpc, address, wei) {
    await rpc.call('hardhat_setBalance', address, toHex(wei))
  },
  async mine(rpc) {
    await rpc.call('evm_mine')
  },
  onDisk: () => [],
  markForRewind: markBySnapshot,
  lacks: {
    disk: 'it keeps its chain in memory',
    poolLimits: 'its pool has no limit',
  },
  burstLimitMs: 240_000,
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
    'replacement at +1 %': refused('replacementUnderpriced'),
    'replacement at +9 %': refused('replacementUnderpriced'),
    'replacement at +10 %': MINED,
    'gap of 5': POOLED,
    'gap behind 64 others': POOLED,
    'full pool': { leftOut: 'its pool has no limit' },
    'max fee below the base fee': POOLED,
    'tip of 0': MINED,
    'no funds': refused('insufficientFunds'),
    // It makes no block while this one is in the pool: evm_mine fails with the error of this transaction.
    'no funds for the second': POOLED,
    'gas below the intrinsic cost': counted('gasLimit'),
    'gas below the floor of EIP-7623': counted('gasLimit'),
    'gas above the block': counted('gasLimit'),
    'gas above 2^24': counted('gasLimit'),
    'another chain': refused('wrongChain'),
    unprotected: MINED,
    'init code of 49,153 bytes': counted('invalid'),
    'data of 131,072 bytes': MINED,
    'type 4 without a tuple': INTRINSIC,
    'second of a delegated account': MINED,
    'gapped one of a delegated account': POOLED,
    'delegation of a reserved account': MINED,
    'tip above the max fee': INTRINSIC,
    'signature of no key': INTRINSIC,
    'upper half of the curve': INTRINSIC,
    'highest nonce': POOLED,
    'fee above one ether': MINED,
    'no transaction at all': counted('invalid'),
  },
}

const AT_ONCE = 'it is mined at once'

/** Its default: one block per transaction. */
export const hardhatAutomine: NodeDescription = {
  ...hardhat,
  name: 'hardhat-automine',
  refusalsAlone: true,
  async begin() {},
  refusals: {
    ...hardhat.refusals,
    'same bytes, pending': hardhat.refusals['same bytes, mined'],
    'replacement at +1 %': { leftOut: AT_ONCE },
    'replacement at +9 %': { leftOut: AT_ONCE },
    'replacement at +10 %': { leftOut: AT_ONCE },
    'gap of 5': refused('nonceTooHigh'),
    'gap behind 64 others': { leftOut: 'it refuses the first of them' },
    'max fee below the base fee': refused('feeTooLow'),
    'no funds for the second': refused('insufficientFunds'),
    'gapped one of a delegated account': refused('nonceTooHigh'),
    'delegation of a reserved account': { leftOut: 'it refuses the gapped ones' },
    'highest nonce': refused('nonceTooHigh'),
  },
}
