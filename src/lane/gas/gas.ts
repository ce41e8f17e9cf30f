import { concatHex, type Hex, isAddressEqual, RpcRequestError, zeroAddress } from 'viem'
import { formatted } from '../../chain/endpoints/calls.js'
import type { EndpointPool, PoolEndpoint } from '../../chain/endpoints/endpointPool.js'
import type { Clock } from '../../platform/clock.js'
import { createTurnBatch } from '../../platform/microtask.js'
import { decodeQuantity } from '../../rpc/codec.js'
import { malformed, rpcErrorOf } from '../../rpc/errors.js'
import { isExplicit } from '../../rpc/explicitRefusal.js'
import { READ_BATCH_MAX } from '../../rpc/limitBatches.js'
import type { RpcCall, RpcFailure, RpcReply } from '../../rpc/port.js'
import type { TxRequest } from '../../types/index.js'
import { leastGas, mostGas } from '../../validate/gasBounds.js'
import { type Tuple, tuplesOf } from '../transaction/authorize.js'

/** The result of a node's attempt to run a transaction. */
export type Estimate =
  | { readonly kind: 'gas'; readonly gas: bigint }
  /** The node ran it and it failed, on the state of this moment. */
  | { readonly kind: 'reverted'; readonly cause: Error }
  /** The account cannot pay for it at this moment. */
  | { readonly kind: 'funds'; readonly cause: Error }
  | {
      readonly kind: 'unknown'
      readonly cause: Error
      readonly retryAfterMs: number | undefined
      /**
       * Why there is no result.
       *
       * - `silence`: no answer about this request arrived.
       * - `words`: the node answered this very request with a message that is not known.
       * - `absurd`: an impossible amount. It is below the intrinsic cost, or above the gas of a block.
       */
      readonly how: 'silence' | 'words' | 'absurd'
    }

export type GasEstimator = {
  /**
   * Requests an estimate before it is certain that one is needed. If the answer is an amount of gas, the next
   * `estimate` of the same request uses it.
   */
  ahead(request: TxRequest, from: Hex): void
  /** `eth_estimateGas` at `pending`. Requests of one event-loop turn share a batch. */
  estimate(request: TxRequest, from: Hex): Promise<Estimate>
  /** Runs the transaction with `eth_call`, for callers that set the gas and want a simulation. */
  simulate(request: TxRequest, from: Hex): Promise<Estimate>
}

// EIP-7702, PER_EMPTY_ACCOUNT_COST: charged for each tuple before execution; a part of it is refunded
// afterwards.
const TUPLE_GAS = 25_000n

type Asked = {
  readonly endpoint: PoolEndpoint
  readonly call: RpcCall
  readonly done: (reply: RpcReply) => void
}

type Method = 'eth_estimateGas' | 'eth_call'

/** An older answer was computed on another state. */
const AHEAD_MS = 2_000

export function createGasEstimator(options: {
  readonly endpointPool: Pick<EndpointPool, 'chain' | 'endpoints' | 'reader' | 'tracker'>
  readonly clock: Pick<Clock, 'now'>
  readonly batchMax: number
  readonly timeoutMs: number
}): GasEstimator {
  const { endpointPool, clock } = options
  const askedAhead = new WeakMap<TxRequest, { readonly atMs: number; readonly estimate: Promise<Estimate> }>()
  const batchMax = Math.min(options.batchMax, READ_BATCH_MAX)
  const add = createTurnBatch(post)

  function ask(endpoint: PoolEndpoint, call: RpcCall): Promise<RpcReply> {
    return new Promise((done) => add({ endpoint, call, done }))
  }

  function post(all: readonly Asked[]): void {
    for (const endpoint of new Set(all.map((one) => one.endpoint))) {
      const own = all.filter((one) => one.endpoint === endpoint)
      for (let start = 0; start < own.length; start += batchMax)
        void postBatch(endpoint, own.slice(start, start + batchMax))
    }
  }

  async function postBatch({ port }: PoolEndpoint, batch: readonly Asked[]): Promise<void> {
    const replies = await port.batch(
      batch.map(({ call }) => call),
      { timeoutMs: options.timeoutMs },
    )
    batch.forEach(({ done }, index) => {
      done(replies[index] ?? { ok: false, failure: { kind: 'malformed', message: 'no answer' } })
    })
  }

  /**
   * Returns the estimate of the current reader. If that is absurd, the other endpoints are asked in turn, and
   * the first amount of gas counts.
   */
  async function run(method: Method, request: TxRequest, from: Hex): Promise<Estimate> {
    const { reader } = endpointPool
    const own = await runAt(reader, method, request, from)
    if (own.kind !== 'unknown' || own.how !== 'absurd') return own
    const others = endpointPool.endpoints.filter((one) => one !== reader && one.role !== 'send' && one.probed)
    for (const other of others) {
      const estimate = await runAt(other, method, request, from)
      if (estimate.kind === 'gas') return estimate
    }
    return own
  }

  async function runAt(
    endpoint: PoolEndpoint,
    method: Method,
    request: TxRequest,
    from: Hex,
  ): Promise<Estimate> {
    const tag = endpoint.profile.current().pending === 'absent' ? 'latest' : 'pending'
    const tuples = tuplesOf(request)
    const params: unknown[] = [formatted(endpointPool.chain, request, from), tag]
    if (tuples.length > 0) params.push(delegatedState(tuples, from))
    const reply = await ask(endpoint, { method, params })
    if (!reply.ok) return failed(reply.failure, method, params)
    if (method === 'eth_call') return { kind: 'gas', gas: request.gas ?? 0n }
    try {
      const gas = decodeQuantity(reply.result, method) + TUPLE_GAS * BigInt(tuples.length)
      checkBounds(gas, request)
      return { kind: 'gas', gas }
    } catch (error) {
      return { kind: 'unknown', cause: error as Error, retryAfterMs: undefined, how: 'absurd' }
    }
  }

  function checkBounds(gas: bigint, request: TxRequest): void {
    const least = leastGas(request, endpointPool.chain)
    const most = mostGas(endpointPool.chain, endpointPool.tracker.newest)
    if (gas < least)
      throw malformed('eth_estimateGas', `${gas} is less than the ${least} that it costs before it runs`)
    if (most !== undefined && gas > most)
      throw malformed('eth_estimateGas', `${gas} is more than the ${most} that a block has room for`)
  }

  async function estimate(request: TxRequest, from: Hex): Promise<Estimate> {
    const asked = askedAhead.get(request)
    askedAhead.delete(request)
    if (asked !== undefined && clock.now() - asked.atMs <= AHEAD_MS) {
      const early = await asked.estimate
      if (early.kind === 'gas') return early
    }
    return run('eth_estimateGas', request, from)
  }

  return {
    ahead(request, from) {
      askedAhead.set(request, { atMs: clock.now(), estimate: run('eth_estimateGas', request, from) })
    },
    estimate,
    simulate: (request, from) => run('eth_call', request, from),
  }
}

/**
 * State override that gives the accounts the code that the tuples delegate to. An estimate with the tuples
 * themselves would need their signatures: for a nonce that is not known yet, and visible to the endpoint even
 * if the transaction is never sent.
 */
function delegatedState(tuples: readonly Tuple[], own: Hex): object {
  const code = ({ contractAddress }: Tuple) =>
    isAddressEqual(contractAddress, zeroAddress) ? '0x' : concatHex(['0xef0100', contractAddress])
  return Object.fromEntries(tuples.map((tuple) => [tuple.account?.address ?? own, { code: code(tuple) }]))
}

function failed(failure: RpcFailure, method: string, params: readonly unknown[]): Estimate {
  const rpc = rpcErrorOf(failure)
  const retryAfterMs = failure.kind === 'http' ? failure.retryAfterMs : undefined
  if (rpc === undefined)
    return { kind: 'unknown', cause: new Error(failure.message), retryAfterMs, how: 'silence' }
  // viem's own error type, so that its decoding of custom errors and its `walk` recognise it.
  const cause = new RpcRequestError({ body: { method, params }, error: rpc, url: 'redacted' })
  const message = rpc.message.toLowerCase()
  if (rpc.code === 3 || REVERTED.test(message)) return { kind: 'reverted', cause }
  if (message.includes('insufficient funds') || message.includes('insufficient balance'))
    return { kind: 'funds', cause }
  return { kind: 'unknown', cause, retryAfterMs, how: isExplicit(failure) ? 'words' : 'silence' }
}

// geth uses code 3 for a revert (internal/ethapi/errors.go). Other clients show a revert by the message only.
const REVERTED =
  /revert|invalid opcode|out of gas|gas required exceeds|stack (under|over)flow|invalid jump|evm error|execution (error|failed)|vm exception/
