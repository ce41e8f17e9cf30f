import { type Hex, zeroHash } from 'viem'
import { bigint, hexOf, number, type RpcObject } from '../rpc/rpcTypes.js'
import {
  type ChainView,
  type Flashblock,
  headOf,
  type Opening,
  partialHash,
  type SealedBlock,
} from './chainView.js'

const EMPTY_BLOOM: Hex = `0x${'00'.repeat(256)}`

/** Builds the header of a sealed block from its flashblocks, in order; at least one. */
export function sealedHeader(parent: SealedBlock, flashblocks: readonly Flashblock[], hash: Hex): RpcObject {
  return { ...merged(flashblocks), number: hexOf(parent.number + 1), hash, parentHash: parent.hash }
}

/**
 * The header of the block being built. Without a flashblock it is the header of an empty block on top of the
 * head, as a node returns between a seal and the first flashblock.
 */
export function pendingHeader(view: ChainView): RpcObject {
  const parent = headOf(view)
  const body = view.open.length === 0 ? empty(parent, view.opening) : merged(view.open)
  return { ...body, number: hexOf(parent.number + 1), hash: partialHash(view), parentHash: parent.hash }
}

export function hashesOf(flashblocks: readonly Flashblock[]): readonly Hex[] {
  return flashblocks.flatMap(({ deposits, hashes }) =>
    deposits.length === 0 ? hashes : [...deposits.map(({ hash }) => hash), ...hashes],
  )
}

/**
 * The state root and most fields are those of the last flashblock; gas, blob gas, bloom and size are summed.
 * The transaction and receipt roots are also the last flashblock's, so a client that recomputes the roots or
 * the block hash gets different values.
 */
function merged(flashblocks: readonly Flashblock[]): RpcObject {
  const last = flashblocks.at(-1)!
  return {
    ...last.header,
    gasUsed: hexOf(last.before.gas + last.gasUsed),
    blobGasUsed: hexOf(flashblocks.reduce((sum, { header }) => sum + optional(header, 'blobGasUsed'), 0n)),
    size: hexOf(flashblocks.reduce((sum, { header }) => sum + number(header, 'size'), 0)),
    logsBloom: mergedBloom(flashblocks),
  }
}

function optional(header: RpcObject, key: string): bigint {
  return header[key] === undefined ? 0n : bigint(header, key)
}

function mergedBloom(flashblocks: readonly Flashblock[]): Hex {
  const blooms = flashblocks
    .map(({ header }) => header.logsBloom as Hex)
    .filter((bloom) => bloom !== EMPTY_BLOOM)
  if (blooms.length === 0) return EMPTY_BLOOM
  const bits = blooms.reduce((sum, bloom) => sum | BigInt(bloom), 0n)
  return `0x${bits.toString(16).padStart(512, '0')}`
}

function empty(parent: SealedBlock, opening: Opening): RpcObject {
  return {
    ...parent.header,
    gasUsed: '0x0',
    blobGasUsed: '0x0',
    logsBloom: EMPTY_BLOOM,
    mixHash: zeroHash,
    timestamp: hexOf(secondsOf(opening)),
    baseFeePerGas: hexOf(opening.baseFeePerGas),
  }
}

/** The timestamp of a block in whole seconds, as its header and the EVM have it. */
export function secondsOf({ timestampMs }: Opening): number {
  return Math.floor(timestampMs / 1_000)
}

/** EIP-1559 with elasticity 2 and denominator 8, on the usage of the whole sealed block. */
export function nextBaseFee(header: RpcObject): bigint {
  const fee = bigint(header, 'baseFeePerGas')
  const target = bigint(header, 'gasLimit') / 2n
  const used = bigint(header, 'gasUsed')
  if (used === target) return fee
  if (used < target) return fee - (fee * (target - used)) / target / 8n
  const rise = (fee * (used - target)) / target / 8n
  return fee + (rise === 0n ? 1n : rise)
}
