import type { Hex } from 'viem'
import { isTxlaneError } from '../../errors/base.js'
import { batchReads } from '../batchReads.js'
import { type BlockSelector, decodeObject, encodeBlock } from '../codec.js'
import { isMethodRefused, isRateLimit, malformed, type RpcError, resultOf } from '../errors.js'
import type { BatchOptions, Port, RpcCall, RpcReply } from '../port.js'
import { profileOf } from '../profileOf.js'
import { noteBlockReceipts } from './getBlockReceipts.js'
import type { ReadOptions } from './source.js'

const METHOD = 'eth_getTransactionReceipt'
const BLOCK_METHOD = 'eth_getBlockReceipts'

/** A receipt as it came: formatting it is the chain's. */
export type RawReceipt = Readonly<Record<string, unknown>>

export type WantedReceipt = {
  readonly hash: Hex
  /** The block that the transaction is in, where it is known: many receipts of one block cost one call. */
  readonly block?: BlockSelector | undefined
  /**
   * `true`: read with the whole block, however few are wanted, since a node may have a block's receipts and no index of the
   * transactions in it (geth answers "transaction indexing is in progress", internal/ethapi/api.go). `false`: by its
   * hash alone. @default as costs less
   */
  readonly whole?: boolean | undefined
}

export type ReadReceiptsParameters = ReadOptions &
  Pick<BatchOptions, 'priority'> & { readonly wanted: readonly WantedReceipt[] }

/** What an endpoint has for a hash; `null` where it has no receipt, which proves nothing about the transaction. */
export type FoundReceipt = RawReceipt | null | RpcError

// Below this many, asking for each costs less than a whole block's receipts.
const WHOLE_BLOCK_MIN = 4
// Whole blocks in one batch: a full one has megabytes of receipts.
const WHOLE_BLOCKS_MAX = 4

/**
 * Receipts by hash, in one batch (one for each four whole blocks): whole blocks where that costs less and the endpoint allows it, else one
 * call for each. What a block's receipts do not have is asked for by hash in a second batch. Never rejects: an
 * endpoint that fails at one of them may have the others.
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
  // A gateway that forbids one method forbids the batch with it.
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
  // A block that the node does not know, or a method that it refuses: it may know the transactions all the same.
  if (reply?.ok || (reply !== undefined && mayHaveSingle(reply.failure))) return
  for (const { hash } of wanted)
    found.set(
      hash,
      attempt(BLOCK_METHOD, () => resultOf(BLOCK_METHOD, reply) as null),
    )
}

function mayHaveSingle(failure: Extract<RpcReply, { ok: false }>['failure']): boolean {
  if (isMethodRefused(BLOCK_METHOD, failure)) return true
  return failure.kind === 'rpc' && !isRateLimit(failure.code, failure.message)
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

/** Whether it is what an endpoint said in place of a receipt. */
export function isReceiptError(found: FoundReceipt): found is RpcError {
  return isTxlaneError(found)
}
