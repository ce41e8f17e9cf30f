import type { Hex } from 'viem'
import type { BatchOptions, Port, RpcCall, RpcFailure, RpcReply } from '../../../src/rpc/port.js'
import { SEND_SYNC } from '../../../src/rpc/sendSync.js'
import type { SimChain } from '../chain/simChain.js'
import { between, chance } from '../random.js'
import { type Faults, NO_FAULTS } from './faults.js'
import type { Heads } from './heads.js'
import { createExecute, createReplica, type ReplicaOptions } from './replica.js'
import type { SyncSends } from './syncSends.js'

export type SimPortOptions = ReplicaOptions & {
  /** Read at each request: later changes apply from then on. @default none */
  readonly faults?: Faults
  readonly name?: string
  /** One way, in milliseconds. @default 5 to 15 */
  readonly latencyMs?: { readonly min: number; readonly max: number }
  /**
   * A node that counts its mempool processes requests concurrently, as geth and reth do: other requests come
   * between the transactions of a batch. @default false
   */
  readonly sideBySide?: boolean
  /** It announces its heads, over a socket that may close. @default HTTP, which answers only */
  readonly heads?: Heads | undefined
  /** It answers `eth_sendRawTransactionSync`. @default -32601 */
  readonly syncSends?: SyncSends | undefined
  /** Called with all bytes that were sent to this port, arrived or not. */
  readonly onRaw?: (raw: Hex) => void
  /** Called for each request as it is sent, with the promise of its answers. */
  readonly onAsked?: (answer: Promise<unknown>) => void
  /** Called for each request once its answer is there. */
  readonly onAnswer?: (calls: readonly RpcCall[], replies: readonly RpcReply[], askedMs: number) => void
}

const TIMEOUT_MS = 10_000
const SENDS: ReadonlySet<string> = new Set(['eth_sendRawTransaction', SEND_SYNC])
const DELAY_MS_MAX = 1_500
const LATE_MS_MAX = 5_000
const RETRY_AFTER_MS = 1_000

/** A port onto the simulated chain: one replica, with its own latency, lag and faults. */
export function createSimPort(chain: SimChain, options: SimPortOptions): Port {
  const { clock, random, faults = NO_FAULTS, latencyMs = { min: 5, max: 15 } } = options
  const { name = 'sim', sideBySide = false, heads, syncSends, onRaw, onAsked, onAnswer, strike } = options
  const stats = { requests: 0, calls: 0 }
  const open = new Set<() => void>()
  let closed = false

  function strikes(fault: keyof Faults): boolean {
    const struck = chance(random, faults[fault])
    if (struck) strike?.(fault)
    return struck
  }

  const answerOfReplica = createReplica(chain, options, strikes)
  const answerCall = (call: RpcCall, staleMs: number) => heads?.answer(call) ?? answerOfReplica(call, staleMs)
  const executeAtOnce = createExecute({
    clock,
    random,
    // A sequencer processes transactions in order.
    isInterleaving: sideBySide && chain.settings.pending === 'mempool',
    strikes,
    answerCall,
  })

  function execute(calls: readonly RpcCall[], done: (replies: readonly RpcReply[]) => void): void {
    const [first] = calls
    const isAlone = first !== undefined && calls.length === 1
    const isSync =
      isAlone &&
      syncSends?.send(
        first,
        (call) => answerCall(call, 0),
        (reply) => done([reply]),
      )
    if (!isSync) executeAtOnce(calls, done)
  }

  const latency = () => latencyMs.min + random() * (latencyMs.max - latencyMs.min)

  async function batch(calls: readonly RpcCall[], batchOptions?: BatchOptions): Promise<readonly RpcReply[]> {
    if (closed || batchOptions?.signal?.aborted) return fail(calls, ABORTED)
    stats.requests++
    stats.calls += calls.length
    // Empty bytes only show whether the endpoint has sync sends.
    for (const { method, params } of calls)
      if (SENDS.has(method) && params[0] !== '0x') onRaw?.(params[0] as Hex)
    const askedMs = clock.now()
    const answering = deliver(calls, batchOptions)
    onAsked?.(answering)
    const replies = await answering
    onAnswer?.(calls, replies, askedMs)
    return replies
  }

  /** One request on its way: its arrival, its execution, and the return of its answer. */
  function deliver(calls: readonly RpcCall[], batchOptions?: BatchOptions): Promise<readonly RpcReply[]> {
    const timeoutMs = batchOptions?.timeoutMs ?? TIMEOUT_MS
    return new Promise((resolve) => {
      // The bytes are sent when the caller gives up, so an execution stays.
      const onAbort = () => finish(fail(calls, GIVEN_UP))
      const giveUp = clock.setTimer(() => finish(fail(calls, TIMEOUT)), timeoutMs)
      const onDrop = () => finish(fail(calls, RESET))
      const finish = (replies: readonly RpcReply[]) => {
        giveUp()
        open.delete(onDrop)
        batchOptions?.signal?.removeEventListener('abort', onAbort)
        resolve(replies)
      }
      batchOptions?.signal?.addEventListener('abort', onAbort)
      if (heads?.isDown) return void clock.setTimer(onDrop, latency())
      open.add(onDrop)
      const answerIn = (ms: number, replies: readonly RpcReply[]) =>
        void clock.setTimer(() => finish(replies), ms)

      if (strikes('late')) {
        clock.setTimer(() => execute(calls, () => {}), timeoutMs + between(random, 1, LATE_MS_MAX))
        return
      }
      if (strikes('http429')) return answerIn(2 * latency(), fail(calls, TOO_MANY))
      if (strikes('lostRequest')) return answerIn(between(random, 1, 2_000), fail(calls, RESET))
      const broken = brokenAnswer()
      if (broken?.executed === false) return answerIn(2 * latency(), fail(calls, broken.failure))
      const delayMs = strikes('delay') ? between(random, 1, DELAY_MS_MAX) : 0
      clock.setTimer(
        () =>
          execute(calls, (replies) =>
            answerIn(latency(), broken === undefined ? replies : fail(calls, broken.failure)),
          ),
        latency() + delayMs,
      )
    })
  }

  /** An answer that did not come from the node, drawn for the whole request. */
  function brokenAnswer(): { readonly failure: RpcFailure; readonly executed: boolean } | undefined {
    if (strikes('lostResponse')) return { failure: RESET, executed: true }
    if (strikes('http503')) return { failure: UNAVAILABLE, executed: chance(random, 0.5) }
    if (strikes('brokenBody')) return { failure: NOT_JSON, executed: true }
    return undefined
  }

  // Requests that are open when the socket closes get no answer, executed or not.
  heads?.onDrop(() => {
    for (const drop of [...open]) drop()
  })

  return {
    name,
    kind: heads === undefined ? 'http' : 'webSocket',
    notifications: heads && { url: name, listen: heads.listen },
    stats,
    batch,
    close() {
      closed = true
    },
  }
}

function fail(calls: readonly RpcCall[], failure: RpcFailure): readonly RpcReply[] {
  return calls.map(() => ({ ok: false, failure }))
}

const ABORTED: RpcFailure = { kind: 'aborted', message: 'given up before anything was written' }
const GIVEN_UP: RpcFailure = { kind: 'network', message: 'given up while the request was under way' }
const TIMEOUT: RpcFailure = { kind: 'timeout', message: 'no answer in time' }
const RESET: RpcFailure = { kind: 'network', message: 'socket hang up' }
const NOT_JSON: RpcFailure = { kind: 'malformed', message: 'the body is not JSON' }
const UNAVAILABLE: RpcFailure = { kind: 'http', status: 503, message: 'Service Unavailable' }
const TOO_MANY: RpcFailure = {
  kind: 'http',
  status: 429,
  message: 'Too Many Requests',
  retryAfterMs: RETRY_AFTER_MS,
}
