import {
  type Chain,
  concatHex,
  type Hex,
  isAddressEqual,
  numberToHex,
  RpcRequestError,
  type TransactionRequest,
  zeroAddress,
} from 'viem'
import { formatTransactionRequest } from 'viem/utils'
import { decodeQuantity } from '../../rpc/codec.js'
import type { RpcCall, RpcFailure, RpcReply } from '../../rpc/port.js'
import { soon } from '../../soon.js'
import type { TxRequest } from '../../types.js'
import type { Hub } from '../nodes/hub.js'
import { type Tuple, tuplesOf } from '../transaction/authorize.js'

/** What a node said when it was asked to run a transaction. */
export type Estimate =
  | { readonly kind: 'gas'; readonly gas: bigint }
  /** The node ran it and it failed: on the state as it is now. */
  | { readonly kind: 'reverted'; readonly cause: Error }
  /** The account cannot pay for it now. */
  | { readonly kind: 'funds'; readonly cause: Error }
  /** No word was had on whether it would run. */
  | { readonly kind: 'unknown'; readonly cause: Error; readonly retryAfterMs: number | undefined }

export type GasEstimator = {
  /** `eth_estimateGas` at `pending`. Requests of one turn share a batch. */
  estimate(request: TxRequest, from: Hex): Promise<Estimate>
  /** Runs the transaction without sending it: for who gives gas and asks for a simulation. */
  simulate(request: TxRequest, from: Hex): Promise<Estimate>
}

// EIP-7702, PER_EMPTY_ACCOUNT_COST: charged for each tuple before anything runs; a part of it comes back afterwards.
const TUPLE_GAS = 25_000n

type Asked = { readonly call: RpcCall; readonly done: (reply: RpcReply) => void }

export function createGasEstimator(options: { hub: Hub; batchMax: number; timeoutMs: number }): GasEstimator {
  const { hub, batchMax } = options
  let asked: Asked[] = []
  let scheduled = false

  function ask(call: RpcCall): Promise<RpcReply> {
    return new Promise((done) => {
      asked.push({ call, done })
      if (scheduled) return
      scheduled = true
      soon(post)
    })
  }

  function post(): void {
    scheduled = false
    const all = asked
    asked = []
    for (let start = 0; start < all.length; start += batchMax)
      void postBatch(all.slice(start, start + batchMax))
  }

  async function postBatch(batch: readonly Asked[]): Promise<void> {
    const replies = await hub.reader.port.batch(
      batch.map(({ call }) => call),
      { timeoutMs: options.timeoutMs },
    )
    batch.forEach(({ done }, index) => {
      done(replies[index] ?? { ok: false, failure: { kind: 'malformed', message: 'no answer' } })
    })
  }

  async function run(
    method: 'eth_estimateGas' | 'eth_call',
    request: TxRequest,
    from: Hex,
  ): Promise<Estimate> {
    const tag = hub.reader.profile.current().pending === 'absent' ? 'latest' : 'pending'
    const tuples = tuplesOf(request)
    const params: unknown[] = [formatted(hub.chain, request, from), tag]
    if (tuples.length > 0) params.push(delegatedState(tuples, from))
    const reply = await ask({ method, params })
    if (!reply.ok) return failed(reply.failure, method, params)
    if (method === 'eth_call') return { kind: 'gas', gas: request.gas ?? 0n }
    try {
      return { kind: 'gas', gas: decodeQuantity(reply.result, method) + TUPLE_GAS * BigInt(tuples.length) }
    } catch (error) {
      return { kind: 'unknown', cause: error as Error, retryAfterMs: undefined }
    }
  }

  return {
    estimate: (request, from) => run('eth_estimateGas', request, from),
    simulate: (request, from) => run('eth_call', request, from),
  }
}

/** The request in the chain's own wire form. Fees are left out: with them nodes check the balance as well. */
export function formatted(chain: Chain, request: TxRequest, from: Hex): object {
  const { gas, ...rest } = request as TxRequest & Record<string, unknown>
  const fields = { ...rest, from } as Record<string, unknown>
  for (const key of ['gasPrice', 'maxFeePerGas', 'maxPriorityFeePerGas', 'account', 'authorize', 'chain']) {
    delete fields[key]
  }
  const format = chain.formatters?.transactionRequest?.format ?? formatTransactionRequest
  const wire = format(fields as TransactionRequest, 'estimateGas') as Record<string, unknown>
  return gas === undefined ? wire : { ...wire, gas: numberToHex(gas) }
}

/**
 * The accounts with the code that the tuples give them. To ask with the tuples themselves, they would have to be
 * signed: for a nonce that is not known yet, and for the endpoint to keep, whatever becomes of the transaction.
 */
function delegatedState(tuples: readonly Tuple[], own: Hex): object {
  const code = ({ contractAddress }: Tuple) =>
    isAddressEqual(contractAddress, zeroAddress) ? '0x' : concatHex(['0xef0100', contractAddress])
  return Object.fromEntries(tuples.map((tuple) => [tuple.account?.address ?? own, { code: code(tuple) }]))
}

function failed(failure: RpcFailure, method: string, params: readonly unknown[]): Estimate {
  const rpc = failure.kind === 'rpc' ? failure : failure.kind === 'http' ? failure.rpc : undefined
  const retryAfterMs = failure.kind === 'http' ? failure.retryAfterMs : undefined
  if (rpc === undefined) return { kind: 'unknown', cause: new Error(failure.message), retryAfterMs }
  // viem's own error type, so that its decoding of custom errors and its `walk` find what they look for.
  const cause = new RpcRequestError({ body: { method, params }, error: rpc, url: 'redacted' })
  const message = rpc.message.toLowerCase()
  if (rpc.code === 3 || REVERTED.test(message)) return { kind: 'reverted', cause }
  if (message.includes('insufficient funds') || message.includes('insufficient balance'))
    return { kind: 'funds', cause }
  return { kind: 'unknown', cause, retryAfterMs }
}

// Code 3 is geth's for a revert (internal/ethapi/errors.go); the others tell it by message only.
const REVERTED =
  /revert|invalid opcode|out of gas|gas required exceeds|stack (under|over)flow|invalid jump|evm error|execution (error|failed)|vm exception/
