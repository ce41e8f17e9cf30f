import type { Hex } from 'viem'
import type { DepositAt } from '../chain/chainState.js'
import { baseOf, newestAnvil } from '../chain/chainView.js'
import type { Pool } from '../pool/pool.js'
import { fail, hexOf, INVALID_PARAMS, type RpcReply, type RpcRequest, SERVER_ERROR } from '../rpc/rpcTypes.js'
import { anvilNumberOf, type Selected, type SelectorContext, select } from './selectors.js'

export type ReadContext = SelectorContext & {
  readonly pool: Pool
  readonly chainId: number
  readonly rules: 'base' | 'geth' | 'anvil'
  /** Whether the transaction count at `pending` includes the executable transactions of the pool. */
  readonly countsPool: boolean
  readonly hasTimestampMs: boolean
  readonly deposit: (hash: string) => DepositAt | undefined
  readonly tipWei: bigint
  /** Number of anvil's newest blocks whose state it keeps. */
  readonly statesKept: number
}

/** Calls to anvil, and the function that builds the reply from their results. */
export type ReadPlan = {
  readonly calls: readonly RpcRequest[]
  readonly finish: (results: readonly unknown[]) => RpcReply
}

/** Returns a reply at once, or a plan of calls to anvil. */
export type ReadHandler = (context: ReadContext, params: readonly unknown[]) => RpcReply | ReadPlan

export function one(
  method: string,
  params: readonly unknown[],
  finish: (result: unknown) => RpcReply,
): ReadPlan {
  return { calls: [{ method, params }], finish: ([result]) => finish(result) }
}

/** Stops a handler with a JSON-RPC error. Selectors are parsed deep inside several handlers. */
export class ReadRefused extends Error {
  override name = 'ReadRefused'
  constructor(readonly reply: RpcReply) {
    super('refused')
  }
}

/** Parses a selector; throws for a malformed one. The caller decides about an unknown block. */
export function selected(context: ReadContext, selector: unknown): Selected {
  const result = select(context, selector)
  if (result.kind === 'invalid') throw new ReadRefused(fail(INVALID_PARAMS, result.message))
  return result
}

/** The anvil block for a state read. An unknown block and a pruned state are errors, with geth's messages. */
export function stateBlock(context: ReadContext, selector: unknown): Hex {
  const number = anvilNumberOf(context.view, selected(context, selector))
  if (number === undefined) throw new ReadRefused(fail(SERVER_ERROR, 'header not found'))
  const isForked = number < baseOf(context.view).number
  if (!isForked && newestAnvil(context.view) - number >= context.statesKept) {
    throw new ReadRefused(fail(SERVER_ERROR, `historical state of block ${number} is not available`))
  }
  return hexOf(number)
}
