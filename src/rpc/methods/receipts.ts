import type { Hex } from 'viem'
import { isTxlaneError } from '../../errors/base.js'
import { batchReads } from '../batchReads.js'
import { type BlockSelector, decodeObject, encodeBlock } from '../codec.js'
import { isMethodRefused, malformed, type RpcError, resultOf, rpcError } from '../errors.js'
import { isNodesAnswer } from '../limits.js'
import { type BatchOptions, call, type Port, type RpcCall, type RpcReply } from '../port.js'
import { profileOf } from '../profile.js'
import type { ReadOptions } from './source.js'

const METHOD = 'eth_getTransactionReceipt'
const BLOCK_METHOD = 'eth_getBlockReceipts'

/** A receipt as the node returned it. Its format depends on the chain. */
export type RawReceipt = Readonly<Record<string, unknown>>

type WantedReceipt = {
  readonly hash: Hex
  /** The block of the transaction, if known. Many receipts of one block then cost one call. */
  readonly block?: BlockSelector | undefined
  /**
   * `true`: read with the whole block, even for few receipts, because a node may have a block's receipts but
   * no index of its transactions (geth answers "transaction indexing is in progress",
   * internal/ethapi/api.go). `false`: read by its hash only. @default the cheaper way
   */
  readonly whole?: boolean | undefined
}

type ReadReceiptsParameters = ReadOptions &
  Pick<BatchOptions, 'priority'> & { readonly wanted: readonly WantedReceipt[] }

/**
 * The receipt that an endpoint has for a hash; `null` if it has none, which proves nothing about the
 * transaction.
 */
export type FoundReceipt = RawReceipt | null | RpcError

// Below this number, single calls cost less than the receipts of a whole block.
const WHOLE_BLOCK_MIN = 4
// Maximum number of whole blocks in one batch. A full block has megabytes of receipts.
const WHOLE_BLOCKS_MAX = 4

/**
 * Reads receipts by hash, in one batch (one for each four whole blocks). It reads whole blocks if that costs
 * less and the endpoint supports it, otherwise makes one call per receipt. Receipts missing from a block's
 * answer are read by hash in a second batch. Never rejects, because an endpoint that fails at one receipt may
 * have the others.
 */
export async function readReceipts(
  port: Port,
  { wanted, ...options }: ReadReceiptsParameters,
): Promise<ReadonlyMap<Hex, FoundReceipt>> {
  const found = new Map<Hex, FoundReceipt>()
  const blocks = wholeBlocks(port, wanted)
  const inBlocks = new Set([...blocks.values()].flat())
  const whole = [...blocks].map(([block, list]): Asked => ({ block, wanted: list }))
  const single = (one: WantedReceipt): Asked => ({ wanted: [one] })
  await ask([...whole.splice(0, WHOLE_BLOCKS_MAX), ...wanted.filter((one) => !inBlocks.has(one)).map(single)])
  while (whole.length > 0) await ask(whole.splice(0, WHOLE_BLOCKS_MAX))
  // A gateway that forbids one method refuses the whole batch with it.
  const forbidden = (one: FoundReceipt | undefined) => blocks.size > 0 && isForbidden(one)
  const missing = wanted.filter(({ hash }) => !found.has(hash) || forbidden(found.get(hash)))
  if (missing.length > 0) await ask(missing.map(single))
  return found

  async function ask(asked: readonly Asked[]): Promise<void> {
    const replies = await batchReads(port, asked.map(callOf), options)
    for (const [index, one] of asked.entries()) {
      if (one.block === undefined) takeSingle(one, replies[index], found)
      else takeBlock(port, one, replies[index], found)
    }
  }
}

type Asked = { readonly block?: string; readonly wanted: readonly WantedReceipt[] }

function wholeBlocks(port: Port, wanted: readonly WantedReceipt[]): Map<string, WantedReceipt[]> {
  const blocks = new Map<string, WantedReceipt[]>()
  if (profileOf(port).current().blockReceipts === false) return blocks
  for (const one of wanted) {
    if (one.block === undefined || one.whole === false) continue
    const block = encodeBlock(one.block)
    blocks.set(block, [...(blocks.get(block) ?? []), one])
  }
  let whole = 0
  for (const [block, list] of blocks) {
    if (list.length >= WHOLE_BLOCK_MIN) continue
    if (list.some((one) => one.whole) && whole < WHOLE_BLOCKS_MAX) whole++
    else blocks.delete(block)
  }
  return blocks
}

function callOf({ block, wanted }: Asked): RpcCall {
  if (block !== undefined) return { method: BLOCK_METHOD, params: [block] }
  return { method: METHOD, params: [wanted[0]?.hash] }
}

function takeSingle({ wanted }: Asked, reply: RpcReply | undefined, found: Map<Hex, FoundReceipt>): void {
  for (const { hash } of wanted) {
    found.set(
      hash,
      attempt(METHOD, () => {
        const result = resultOf(METHOD, reply)
        return result === null ? null : decodeObject(result, METHOD)
      }),
    )
  }
}

function takeBlock(
  port: Port,
  { wanted }: Asked,
  reply: RpcReply | undefined,
  found: Map<Hex, FoundReceipt>,
): void {
  noteBlockReceipts(port, reply)
  if (reply?.ok && Array.isArray(reply.result)) {
    const hashes = new Set<unknown>(wanted.map(({ hash }) => hash))
    for (const receipt of reply.result as unknown[]) {
      const hash = (receipt as RawReceipt | null)?.transactionHash
      if (hashes.has(hash)) found.set(hash as Hex, receipt as RawReceipt)
    }
    return
  }
  // If the node does not know the block, or refuses the method, it may know the transactions nevertheless.
  if (reply?.ok || (reply !== undefined && mayHaveSingle(reply))) return
  for (const { hash } of wanted)
    found.set(
      hash,
      attempt(BLOCK_METHOD, () => resultOf(BLOCK_METHOD, reply) as null),
    )
}

function mayHaveSingle(reply: Extract<RpcReply, { ok: false }>): boolean {
  return isMethodRefused(BLOCK_METHOD, reply.failure) || isNodesAnswer(reply)
}

function attempt(method: string, read: () => RawReceipt | null): FoundReceipt {
  try {
    return read()
  } catch (error) {
    if (isTxlaneError(error)) return error as RpcError
    return malformed(method, 'it could not be read')
  }
}

function isForbidden(found: FoundReceipt | undefined): boolean {
  return found !== undefined && isReceiptError(found) && found.status === 403
}

/** True if the value is the error of an endpoint instead of a receipt. */
export function isReceiptError(found: FoundReceipt): found is RpcError {
  return isTxlaneError(found)
}

// The refusal of each endpoint, so that a later call throws the same error without a request.
const refusals = new WeakMap<Port, ReturnType<typeof rpcError>>()

/**
 * The receipts of a block as one endpoint returned them. The port's profile learns from the answer.
 *
 * @throws as `getBlockReceipts`
 */
export async function readRawReceipts(
  port: Port,
  block: string,
  options: ReadOptions = {},
): Promise<readonly RawReceipt[] | null> {
  const profile = profileOf(port)
  if (profile.current().blockReceipts === false)
    throw refusals.get(port) ?? rpcError(BLOCK_METHOD, GIVEN_UNUSABLE)
  const reply = await call(port, BLOCK_METHOD, [block], options)
  noteBlockReceipts(port, reply)
  if (!reply.ok) throw rpcError(BLOCK_METHOD, reply.failure)
  if (reply.result === null) return null
  if (!Array.isArray(reply.result)) throw malformed(BLOCK_METHOD, 'result is not an array')
  return reply.result.map((item) => decodeObject(item, BLOCK_METHOD, 'a receipt'))
}

/** Records in the endpoint profile whether the answer shows that the method is supported. */
function noteBlockReceipts(port: Port, reply: RpcReply | undefined): void {
  if (reply === undefined) return
  const profile = profileOf(port)
  if (reply.ok) return profile.observe({ kind: 'methodAnswered', method: BLOCK_METHOD })
  if (!isMethodRefused(BLOCK_METHOD, reply.failure)) return
  const error = rpcError(BLOCK_METHOD, reply.failure)
  refusals.set(port, error)
  profile.observe({
    kind: 'methodRefused',
    method: BLOCK_METHOD,
    status: error.status,
    rpcCode: error.rpcCode,
  })
}

const GIVEN_UNUSABLE = { kind: 'rpc', code: -32601, message: 'the endpoint profile says so' } as const
