import type { Hex } from 'viem'
import type { Pool } from '../pool/pool.js'
import {
  fail,
  hexOf,
  INVALID_PARAMS,
  type RpcReply,
  type RpcRequest,
  SERVER_ERROR,
} from '../serve/rpcTypes.js'
import { anvilNumberOf, type Selected, type SelectorContext, select } from './selectors.js'

export type ReadContext = SelectorContext & {
  readonly pool: Pool
  readonly chainId: number
  readonly rules: 'base' | 'geth' | 'anvil'
  readonly tipWei: bigint
}

/** Calls to the child, and what becomes of their answers. */
export type ReadPlan = {
  readonly calls: readonly RpcRequest[]
  readonly finish: (results: readonly unknown[]) => RpcReply
}

/** Answers at once, or says what must be asked first. */
export type ReadHandler = (context: ReadContext, params: readonly unknown[]) => RpcReply | ReadPlan

export function one(
  method: string,
  params: readonly unknown[],
  finish: (result: unknown) => RpcReply,
): ReadPlan {
  return { calls: [{ method, params }], finish: ([result]) => finish(result) }
}

/** Stops a handler with a JSON-RPC error: selectors are read deep inside several of them. */
export class ReadRefused extends Error {
  override name = 'ReadRefused'
  constructor(readonly reply: RpcReply) {
    super('refused')
  }
}

/** The selector, or a refusal for one that is malformed. A block that is not known is the caller's to judge. */
export function selected(context: ReadContext, selector: unknown): Selected {
  const result = select(context, selector)
  if (result.kind === 'invalid') throw new ReadRefused(fail(INVALID_PARAMS, result.message))
  return result
}

/** The child's block for a state read. A block that is not known is an error there, in geth's words. */
export function stateBlock(context: ReadContext, selector: unknown): Hex {
  const number = anvilNumberOf(context.view, selected(context, selector))
  if (number === undefined) throw new ReadRefused(fail(SERVER_ERROR, 'header not found'))
  return hexOf(number)
}
