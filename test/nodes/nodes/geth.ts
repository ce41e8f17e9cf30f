import type { Hex } from 'viem'
import type { PlainRpc } from '../../demo/plainRpc.js'
import { pause } from '../../support/pause.js'
import { buildGeth, findGeth, gethCommand } from '../find/geth.js'
import { counted, dropped, INTRINSIC, MINED, POOLED, refused, retried } from '../refusals/names.js'
import type { NodeDescription } from './description.js'

// Ten seconds after its start and every minute from then on (`core/txpool/locals`).
const RETRIED = retried('it retries temporary refusals by itself, and answers with the hash')
const NO_LOCALS = ['--txpool.nolocals']
const MODULES = 'eth,net,web3,txpool,debug,dev,testing'
const ZEROS: Hex = `0x${'00'.repeat(32)}`
const NOBODY: Hex = `0x${'00'.repeat(20)}`
/** A day, so that no block comes by itself. */
const NEVER = '86400'
const LOOKS = 200
const LOOK_MS = 5

export const geth: NodeDescription = {
  name: 'geth',
  async locate(says) {
    return gethCommand((await findGeth()) ?? (await buildGeth(says)), ['--http.api', MODULES])
  },
  args: {
    plain: [],
    interval: ['--dev.period', '1', '--dev.gaslimit', '30000000'],
    // The gas limit stays at 11.5 million, below 2^24, so that each of the two limits can be tested alone.
    manual: ['--dev.period', NEVER],
  },
  mine,
  poolFollowed,
  onDisk: (folder) => ['--datadir', folder],
  smallPool: poolOf({ globalslots: 64, globalqueue: 16, accountslots: 4, accountqueue: 8 }),
  tinyPool: poolOf({ globalslots: 4, globalqueue: 4, accountslots: 1, accountqueue: 1 }),
  saysRefusals: NO_LOCALS,
  async markForRewind(rpc) {
    const head = await rpc.call('eth_blockNumber')
    return async () => {
      await rpc.call('debug_setHead', head)
    }
  },
  lacks: {},
  burstLimitMs: 180_000,
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
    'gap behind 64 others': dropped('it keeps 64 of an account'),
    'full pool': RETRIED,
    'max fee below the base fee': POOLED,
    'tip of 0': refused('feeTooLow'),
    'no funds': refused('insufficientFunds'),
    'no funds for the second': refused('insufficientFunds'),
    'gas below the intrinsic cost': counted('gasLimit'),
    'gas below the floor of EIP-7623': counted('gasLimit'),
    'gas above the block': counted('gasLimit'),
    'gas above 2^24': counted('gasLimit'),
    'another chain': refused('wrongChain'),
    unprotected: counted('invalid'),
    'init code of 49,153 bytes': counted('invalid'),
    'data of 131,072 bytes': counted('invalid'),
    'type 4 without a tuple': INTRINSIC,
    'second of a delegated account': RETRIED,
    'gapped one of a delegated account': RETRIED,
    'delegation of a reserved account': RETRIED,
    'tip above the max fee': INTRINSIC,
    'signature of no key': counted('invalid'),
    'upper half of the curve': INTRINSIC,
    'highest nonce': INTRINSIC,
    'fee above one ether': counted('feeCapExceeded'),
    'no transaction at all': counted('invalid'),
  },
}

function poolOf(limits: Readonly<Record<string, number>>): readonly string[] {
  return Object.entries(limits).flatMap(([name, limit]) => [`--txpool.${name}`, `${limit}`])
}

/** It reports temporary refusals, because it retries nothing. */
export const gethNoLocals: NodeDescription = {
  ...geth,
  name: 'geth-nolocals',
  refusalsAlone: true,
  args: { ...geth.args, manual: [...geth.args.manual, ...NO_LOCALS] },
  refusals: {
    ...geth.refusals,
    'full pool': refused('feeTooLow'),
    'second of a delegated account': refused('delegatedLimit'),
    'gapped one of a delegated account': refused('delegatedLimit'),
    'delegation of a reserved account': refused('delegatedLimit'),
  },
}

/** It answers "already known" until its pool has the state of the block, and "nonce too low" from then on. */
async function poolFollowed(rpc: PlainRpc, hash: Hex): Promise<void> {
  const raw = await rpc.call('eth_getRawTransactionByHash', hash)
  const isKnown = () =>
    rpc.call('eth_sendRawTransaction', raw).then(
      () => false,
      (error: Error) => error.message.includes('already known'),
    )
  for (let looks = 0; looks < LOOKS && (await isKnown()); looks++) await pause(LOOK_MS)
}

/** `testing_commitBlockV1`: makes a block on the head from the executable transactions of the pool. */
async function mine(rpc: PlainRpc): Promise<void> {
  const head = (await rpc.call('eth_getBlockByNumber', 'latest', false)) as { readonly timestamp: Hex }
  const attributes = {
    timestamp: `0x${(BigInt(head.timestamp) + 1n).toString(16)}`,
    prevRandao: ZEROS,
    suggestedFeeRecipient: NOBODY,
    withdrawals: [],
    parentBeaconBlockRoot: ZEROS,
  }
  await rpc.call('testing_commitBlockV1', attributes, null, null)
}
