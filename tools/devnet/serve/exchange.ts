import type { Clock } from '../../../src/platform/clock.js'
import type { FaultRule, RequestFault } from '../faults/faultRules.js'
import { type FaultEngine, type FaultPlan, matchesRule } from '../faults/faults.js'
import { type CallInfo, createCallInfo } from '../rpc/callInfo.js'
import { fail, INVALID_REQUEST, isObject, type RpcReply } from '../rpc/rpcTypes.js'
import type { Gateway } from './gateway.js'
import type { Subscriber } from './subscriptions.js'

/** The client side of one request, over HTTP or WebSocket. Exactly one of these functions is called, once. */
export type Wire = {
  reply(body: string): void
  /** Answers with a status other than 200, and a JSON-RPC error as the body. */
  status(status: number, headers: Record<string, string>, body: string): void
  destroy(): void
  /** Sends a part of the response and breaks the connection. */
  breakOff(body: string): void
  /** The subscriptions of the connection, where it can push. */
  readonly subscriber?: Subscriber
}

/** Counts of the requests that a devnet has received. */
export type DevnetStats = {
  /** HTTP requests and WebSocket messages. */
  httpRequests: number
  /** JSON-RPC calls of those requests. */
  rpcCalls: number
  /** Calls by method. */
  byMethod: Record<string, number>
}

export type Exchange = {
  serve(body: string, wire: Wire): Promise<void>
  readonly stats: DevnetStats
  close(): void
}

export type ExchangeOptions = {
  readonly gateway: Gateway
  readonly faults: FaultEngine
  readonly clock: Clock
  readonly batchMax: number
  readonly blockReceipts: 'allow' | 'forbidden'
}

type Parsed = {
  readonly ids: readonly unknown[]
  readonly calls: readonly CallInfo[]
  readonly batch: boolean
}

const HOLD_MS = 100

/** Maps the text of a request to the text of its response, and applies the request faults. */
export function createExchange(options: ExchangeOptions): Exchange {
  const { gateway, faults, clock } = options
  const stats: DevnetStats = { httpRequests: 0, rpcCalls: 0, byMethod: {} }
  const delays = new Set<() => void>()
  // Reordered requests by release function. A later request that matches the same rule releases them.
  const held = new Map<() => void, FaultRule>()

  function count(calls: readonly CallInfo[]): void {
    stats.rpcCalls += calls.length
    for (const { method } of calls) stats.byMethod[method] = (stats.byMethod[method] ?? 0) + 1
  }

  function hold(delayMs: number, overtakenBy?: FaultRule): Promise<void> {
    return new Promise((resolve) => {
      const release = () => {
        cancel()
        held.delete(release)
        delays.delete(release)
        resolve()
      }
      const cancel = clock.setTimer(release, delayMs)
      if (overtakenBy === undefined) delays.add(release)
      else held.set(release, overtakenBy)
    })
  }

  function overtake(calls: readonly CallInfo[]): void {
    for (const [release, rule] of [...held]) {
      if (calls.some((call) => matchesRule(rule, call))) release()
    }
  }

  async function before(plan: FaultPlan, wire: Wire): Promise<boolean> {
    if (has(plan, 'lostRequest')) {
      wire.destroy()
      return false
    }
    for (const fault of plan.request) {
      if (fault.fault === 'delay') await hold(fault.delayMs ?? HOLD_MS)
      if (fault.fault === 'reorder') await hold(fault.delayMs ?? HOLD_MS, fault)
    }
    const status = plan.request.find((fault) => fault.fault === 'httpStatus')
    if (status?.fault !== 'httpStatus') return true
    refuse(wire, status)
    return false
  }

  function after(plan: FaultPlan, wire: Wire, body: string): void {
    const half = body.slice(0, Math.floor(body.length / 2))
    if (has(plan, 'lostResponse')) wire.destroy()
    else if (has(plan, 'dropConnection')) wire.breakOff(half)
    else wire.reply(has(plan, 'malformed') ? half : body)
  }

  async function serve(body: string, wire: Wire): Promise<void> {
    stats.httpRequests += 1
    const parsed = parse(body)
    if (parsed === undefined) return wire.reply(JSON.stringify(envelope(null, fail(-32700, 'parse error'))))
    if (parsed.calls.length > options.batchMax) {
      return wire.reply(JSON.stringify(envelope(null, fail(INVALID_REQUEST, 'batch too large'))))
    }
    count(parsed.calls)
    const plan = faults.plan(parsed.calls)
    if (!(await before(plan, wire))) return
    if (forbidden(parsed, options)) return refuseReceipts(wire, parsed.ids[0])
    const replies = await gateway.answer(parsed.calls, plan, wire.subscriber)
    const envelopes = replies.map((reply, index) => envelope(parsed.ids[index], reply))
    after(plan, wire, JSON.stringify(parsed.batch ? envelopes : envelopes[0]))
    overtake(parsed.calls)
  }

  return {
    serve: (body, wire) => serve(body, wire).catch(() => wire.destroy()),
    stats,
    close() {
      for (const release of [...held.keys(), ...delays]) release()
    },
  }
}

function has(plan: FaultPlan, fault: RequestFault['fault']): boolean {
  return plan.request.some((one) => one.fault === fault)
}

function parse(body: string): Parsed | undefined {
  try {
    const parsed: unknown = JSON.parse(body)
    const items = Array.isArray(parsed) ? parsed : [parsed]
    if (items.length === 0) return undefined
    const calls = items.map((item) => {
      const { method, params } = isObject(item) ? item : {}
      return createCallInfo({
        method: typeof method === 'string' ? method : '',
        params: Array.isArray(params) ? params : [],
      })
    })
    return {
      ids: items.map((item) => (isObject(item) ? item.id : null)),
      calls,
      batch: Array.isArray(parsed),
    }
  } catch {
    return undefined
  }
}

function envelope(id: unknown, reply: RpcReply): object {
  return { jsonrpc: '2.0', id: id ?? null, ...reply }
}

function refuse(wire: Wire, fault: RequestFault & { fault: 'httpStatus' }): void {
  const status = fault.status ?? 503
  const code = status === 429 ? -32016 : -32603
  const message = fault.message ?? (status === 429 ? 'over rate limit' : 'service unavailable')
  const headers: Record<string, string> =
    fault.retryAfterMs === undefined ? {} : { 'retry-after': String(Math.ceil(fault.retryAfterMs / 1_000)) }
  wire.status(status, headers, JSON.stringify(envelope(null, fail(code, message))))
}

// Base's public endpoints answer a request for block receipts with HTTP 403.
function forbidden({ calls, batch }: Parsed, options: ExchangeOptions): boolean {
  return options.blockReceipts === 'forbidden' && !batch && calls[0]?.method === 'eth_getBlockReceipts'
}

function refuseReceipts(wire: Wire, id: unknown): void {
  wire.status(403, {}, JSON.stringify(envelope(id, fail(-32601, 'rpc method is not whitelisted'))))
}
