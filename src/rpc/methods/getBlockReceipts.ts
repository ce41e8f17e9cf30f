import type { Hex } from 'viem'
import {
  type BlockSelector,
  decodeHash,
  decodeHashOrNull,
  decodeObject,
  decodeQuantity,
  encodeBlock,
} from '../codec.js'
import { isMethodRefused, malformed, rpcError } from '../errors.js'
import { call, type Port, type RpcReply } from '../port.js'
import { profileOf } from '../profileOf.js'
import { firstAnswer, type ReadOptions, type ReadSource, readPorts } from './source.js'

const METHOD = 'eth_getBlockReceipts'

export type GetBlockReceiptsParameters = ReadOptions & {
  /** A number (hex, bigint or number) or a tag. `pending`: of the transactions pre-confirmed so far. */
  readonly block: BlockSelector
}

/** A receipt: the fields named here decoded, any others as they came. */
export type BlockReceipt = {
  readonly transactionHash: Hex
  /** `null` where a node leaves it out before the block is sealed. */
  readonly blockNumber: bigint | null
  /** `null` before the block is sealed: real nodes send null or 32 zero bytes. */
  readonly blockHash: Hex | null
  /** `undefined` where the node sends none (before Byzantium). */
  readonly status: 'success' | 'reverted' | undefined
  readonly gasUsed: bigint
  /** The transaction's type in hex, as it came: chains add their own. */
  readonly type: Hex | undefined
  readonly [field: string]: unknown
}

/** Described in `public.ts`. */
export async function getBlockReceipts(
  source: ReadSource,
  { block: selector, ...options }: GetBlockReceiptsParameters,
): Promise<readonly BlockReceipt[] | null> {
  const block = encodeBlock(selector)
  const raw = await firstAnswer(readPorts(source), options.signal, (port) =>
    readRawReceipts(port, block, options),
  )
  return raw === null ? null : raw.map(decodeReceipt)
}

// What each endpoint said when it refused, so that a remembered refusal says the same.
const refusals = new WeakMap<Port, ReturnType<typeof rpcError>>()

/**
 * The receipts of a block as they came, from one endpoint; what is learnt goes into the port's profile.
 * @throws as `getBlockReceipts`
 */
async function readRawReceipts(
  port: Port,
  block: string,
  options: ReadOptions = {},
): Promise<readonly Readonly<Record<string, unknown>>[] | null> {
  const profile = profileOf(port)
  if (profile.current().blockReceipts === false) throw refusals.get(port) ?? rpcError(METHOD, GIVEN_UNUSABLE)
  const reply = await call(port, METHOD, [block], options)
  noteBlockReceipts(port, reply)
  if (!reply.ok) throw rpcError(METHOD, reply.failure)
  if (reply.result === null) return null
  if (!Array.isArray(reply.result)) throw malformed(METHOD, 'result is not an array')
  return reply.result.map((item) => decodeObject(item, METHOD, 'a receipt'))
}

/** What the endpoint's answer says of the method goes into its profile. */
export function noteBlockReceipts(port: Port, reply: RpcReply | undefined): void {
  if (reply === undefined) return
  const profile = profileOf(port)
  if (reply.ok) return profile.observe({ kind: 'methodAnswered', method: METHOD })
  if (!isMethodRefused(METHOD, reply.failure)) return
  const error = rpcError(METHOD, reply.failure)
  refusals.set(port, error)
  profile.observe({ kind: 'methodRefused', method: METHOD, status: error.status, rpcCode: error.rpcCode })
}

const GIVEN_UNUSABLE = { kind: 'rpc', code: -32601, message: 'the endpoint profile says so' } as const

function decodeReceipt(raw: Readonly<Record<string, unknown>>): BlockReceipt {
  return {
    ...raw,
    transactionHash: decodeHash(raw.transactionHash, METHOD, 'transactionHash'),
    blockNumber:
      (raw.blockNumber ?? null) === null ? null : decodeQuantity(raw.blockNumber, METHOD, 'blockNumber'),
    blockHash: decodeHashOrNull(raw.blockHash, METHOD, 'blockHash'),
    status: decodeStatus(raw.status),
    gasUsed: decodeQuantity(raw.gasUsed, METHOD, 'gasUsed'),
    type: decodeType(raw.type),
  }
}

function decodeStatus(value: unknown): BlockReceipt['status'] {
  if (value === undefined || value === null) return undefined
  const status = decodeQuantity(value, METHOD, 'status')
  if (status > 1n) throw malformed(METHOD, 'status is neither 0x0 nor 0x1')
  return status === 1n ? 'success' : 'reverted'
}

function decodeType(value: unknown): Hex | undefined {
  if (value === undefined || value === null) return undefined
  decodeQuantity(value, METHOD, 'type')
  return value as Hex
}
