import { type Address, concat, type Hex, keccak256, numberToHex, pad, toRlp } from 'viem'
import { hexOf, type RpcObject } from '../rpc/rpcTypes.js'

/**
 * A system transaction of type 0x7e at the top of a block of Base: it has no signature, and the pool never
 * contains it. anvil does not execute it; the devnet answers for it from these values.
 */
export type Deposit = {
  readonly hash: Hex
  readonly raw: Hex
  readonly gasUsed: bigint
  /** Fields of the transaction and of the receipt that do not depend on the block's hash. */
  readonly transaction: RpcObject
  readonly receipt: RpcObject
}

const DEPOSITOR: Address = '0xdeaddeaddeaddeaddeaddeaddeaddeaddead0001'
const L1_BLOCK: Address = '0x4200000000000000000000000000000000000015'
const BASE_TIME: Address = '0x4200000000000000000000000000000000000030'
const SELECTORS = { setL1BlockValuesJovian: '0x3db6be2b', setTimestampMillisPart: '0x86bdf394' } as const
const GAS_LIMIT = 1_000_000n
const EMPTY_BLOOM: Hex = `0x${'00'.repeat(256)}`
// Ethereum's slot. The deposit states the number of the L1 block that the L2 block derives from.
const L1_BLOCK_MS = 12_000
const DEPOSITS_PER_BLOCK = 2

/**
 * The two deposits of a block since Base's upgrade Denim, in their order: the attributes of the L1 block, and
 * the milliseconds of the block's timestamp. Source: docs.base.org, "200ms native blocks", and
 * `BaseTimeUpdateTx` of base/base. Their gas is a typical value.
 */
export function depositsOf(options: {
  readonly salt: Hex
  /** Number of blocks since the first block of the chain. */
  readonly height: number
  readonly timestampMs: number
}): readonly Deposit[] {
  const { salt, height, timestampMs } = options
  const l1Number = Math.floor(timestampMs / L1_BLOCK_MS)
  // The packed arguments of 174 bytes: scalars, sequence number, timestamp and number of the L1 block, fees,
  // and its hash.
  const attributes = concat([
    SELECTORS.setL1BlockValuesJovian,
    pad(numberToHex(height), { size: 16 }),
    pad(numberToHex(Math.floor(timestampMs / 1_000)), { size: 8 }),
    pad(numberToHex(l1Number), { size: 8 }),
    pad('0x', { size: 142 }),
  ])
  const millis = concat([SELECTORS.setTimestampMillisPart, pad(numberToHex(timestampMs % 1_000))])
  return [
    depositOf({ salt, to: L1_BLOCK, input: attributes, gasUsed: 46_217n, nonce: nonceOf(height, 0) }),
    depositOf({ salt, to: BASE_TIME, input: millis, gasUsed: 23_512n, nonce: nonceOf(height, 1) }),
  ]
}

function nonceOf(height: number, index: number): number {
  return Math.max(0, height - 1) * DEPOSITS_PER_BLOCK + index
}

function depositOf(options: {
  readonly salt: Hex
  readonly to: Address
  readonly input: Hex
  readonly gasUsed: bigint
  readonly nonce: number
}): Deposit {
  const { to, input, gasUsed } = options
  const nonce = hexOf(options.nonce)
  const sourceHash = keccak256(concat([options.salt, pad(nonce), to]))
  const fields = [sourceHash, DEPOSITOR, to, '0x', '0x', numberToHex(GAS_LIMIT), '0x', input] as const
  const raw = concat(['0x7e', toRlp([...fields])])
  const hash = keccak256(raw)
  return {
    hash,
    raw,
    gasUsed,
    transaction: {
      type: '0x7e',
      hash,
      sourceHash,
      from: DEPOSITOR,
      to,
      mint: '0x0',
      value: '0x0',
      gas: hexOf(GAS_LIMIT),
      gasPrice: '0x0',
      input,
      nonce,
      v: '0x0',
      yParity: '0x0',
      r: '0x0',
      s: '0x0',
      depositReceiptVersion: '0x1',
    },
    receipt: {
      type: '0x7e',
      status: '0x1',
      transactionHash: hash,
      from: DEPOSITOR,
      to,
      contractAddress: null,
      gasUsed: hexOf(gasUsed),
      effectiveGasPrice: '0x0',
      logs: [],
      logsBloom: EMPTY_BLOOM,
      depositNonce: nonce,
      depositReceiptVersion: '0x1',
      l1GasPrice: '0x0',
      l1GasUsed: '0x0',
      l1Fee: '0x0',
    },
  }
}
