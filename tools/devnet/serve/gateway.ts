import type { Hex } from 'viem'
import { type ChainView, laggingView } from '../chain/chainView.js'
import type { Gate } from '../chain/gate.js'
import type { CallFault } from '../faults/faultRules.js'
import type { FaultPlan } from '../faults/faults.js'
import type { ReadContext } from '../reads/readContext.js'
import { type ReadPlan, ReadRefused } from '../reads/readContext.js'
import { READS } from '../reads/readMethods.js'
import type { AnvilRpc } from '../rpc/anvilRpc.js'
import { type CallInfo, isSend } from '../rpc/callInfo.js'
import { fail, INVALID_PARAMS, METHOD_NOT_FOUND, type RpcReply, type RpcRequest } from '../rpc/rpcTypes.js'
import { isControl } from './controls.js'
import type { Sends } from './sends.js'
import { isSubscription, NO_NOTIFICATIONS, type Subscriber } from './subscriptions.js'

/** Answers calls in order, by position. Independent of HTTP. */
export type Gateway = {
  /** Calls about subscriptions are answered by the socket's subscriber; over HTTP there is none. */
  answer(calls: readonly CallInfo[], plan: FaultPlan, subscriber?: Subscriber): Promise<readonly RpcReply[]>
  /** Makes one read without faults. */
  read(method: string, params: readonly unknown[]): Promise<RpcReply>
}

export type GatewayOptions = {
  readonly rpc: AnvilRpc
  readonly sends: Sends
  readonly gate: Gate
  readonly view: () => ChainView
  readonly context: (view: ChainView) => ReadContext
  readonly blockReceipts: 'allow' | 'forbidden'
  readonly hasFlashblocks: boolean
  /** Handles methods that change the chain or its state: `evm_mine`, `anvil_setBalance` and similar ones. */
  readonly control: (call: RpcRequest) => Promise<RpcReply>
}

const INTERNAL = -32603

export function createGateway(options: GatewayOptions): Gateway {
  const { rpc, sends, gate } = options

  async function answer(
    calls: readonly CallInfo[],
    plan: FaultPlan,
    subscriber?: Subscriber,
  ): Promise<readonly RpcReply[]> {
    const lag = plan.request.find(({ fault }) => fault === 'laggingReplica')
    const blocks = lag?.fault === 'laggingReplica' ? (lag.blocks ?? 1) : 0
    const replies: RpcReply[] = []
    // The calls of a batch take effect in order, as on geth: a count after sends in the same batch includes
    // them. Consecutive calls of the same kind go to anvil together.
    for (const run of runsOf(calls)) {
      const at = replies.length
      const faultsOf = (index: number) => plan.calls[at + index] ?? []
      const isRead = kindOf(run[0]!) === 'read'
      replies.push(
        ...(isRead
          ? await gate.read(() => reads(run, faultsOf, blocks))
          : await writes(run, faultsOf, calls, subscriber)),
      )
    }
    return replies
  }

  async function writes(
    run: readonly CallInfo[],
    faultsOf: (index: number) => readonly CallFault[],
    request: object,
    subscriber: Subscriber | undefined,
  ): Promise<readonly RpcReply[]> {
    return Promise.all(
      run.map(async (call, index) => {
        const faults = faultsOf(index)
        const refusal = refusalOf(faults)
        if (refusal !== undefined) return refusal
        if (isSubscription(call.method)) return subscriber?.answer(call) ?? NO_NOTIFICATIONS
        return isSend(call.method) ? sends.send(call, faults, request) : options.control(call)
      }),
    )
  }

  async function reads(
    run: readonly CallInfo[],
    faultsOf: (index: number) => readonly CallFault[],
    lagBlocks: number,
  ): Promise<readonly RpcReply[]> {
    const view = options.view()
    const context = options.context(
      lagBlocks > 0 ? laggingView(view, lagBlocks, options.hasFlashblocks) : view,
    )
    const plans = run.map((call, index) => refusalOf(faultsOf(index)) ?? planOf(context, call))
    const results = await rpc.batch(plans.flatMap((plan) => ('calls' in plan ? plan.calls : [])))
    let at = 0
    return plans.map((plan) => {
      if (!('calls' in plan)) return plan
      at += plan.calls.length
      return finish(plan, results.slice(at - plan.calls.length, at))
    })
  }

  function planOf(context: ReadContext, { method, params }: RpcRequest): RpcReply | ReadPlan {
    if (method === 'eth_getBlockReceipts' && options.blockReceipts === 'forbidden') {
      // Error of the proxy before Base's public nodes in a batch; a single request gets HTTP 403.
      return fail(METHOD_NOT_FOUND, 'rpc method is not whitelisted')
    }
    // Own keys only: a method named `constructor` must not match.
    const handler = Object.hasOwn(READS, method) ? READS[method] : undefined
    if (handler === undefined)
      return fail(METHOD_NOT_FOUND, `the method ${method} does not exist/is not available`)
    try {
      return handler(context, params)
    } catch (error) {
      return error instanceof ReadRefused ? error.reply : fail(INVALID_PARAMS, 'invalid params')
    }
  }

  return {
    answer,
    async read(method, params) {
      const call = { method, params, transaction: () => undefined }
      const [reply] = await gate.read(() => reads([call], () => [], 0))
      return reply ?? fail(INTERNAL, 'internal error')
    },
  }
}

function refusalOf(faults: readonly CallFault[]): RpcReply | undefined {
  const fault = faults.find((one) => one.fault === 'rpcError')
  if (fault?.fault !== 'rpcError') return undefined
  return fail(fault.code ?? INTERNAL, fault.message ?? 'internal error', fault.data)
}

function finish(plan: ReadPlan, replies: readonly RpcReply[]): RpcReply {
  const results: unknown[] = []
  for (const reply of replies) {
    if ('error' in reply) return reply
    results.push(reply.result)
  }
  try {
    return plan.finish(results)
  } catch {
    return fail(INTERNAL, 'internal error')
  }
}

function kindOf({ method }: CallInfo): 'read' | 'write' {
  return isSend(method) || isControl(method) || isSubscription(method) ? 'write' : 'read'
}

function runsOf(calls: readonly CallInfo[]): CallInfo[][] {
  const runs: CallInfo[][] = []
  for (const call of calls) {
    const last = runs.at(-1)
    if (last !== undefined && kindOf(last[0]!) === kindOf(call)) last.push(call)
    else runs.push([call])
  }
  return runs
}

/** The receipt from the gateway's own reads, or null. */
export async function receiptThrough(gateway: Gateway, hash: Hex): Promise<unknown> {
  const reply = await gateway.read('eth_getTransactionReceipt', [hash])
  return 'result' in reply ? reply.result : null
}
