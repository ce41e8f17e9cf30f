import { type Hex, keccak256 } from 'viem'
import type { Clock, Random } from '../../../src/clock.js'
import type { BatchOptions, Port, RpcCall, RpcFailure, RpcReply } from '../../../src/rpc/port.js'
import { ancestor, type View } from '../chain/block.js'
import type { SimChain } from '../chain/simChain.js'
import { between, chance } from '../random.js'
import { decodeTransaction } from '../transaction.js'
import { answer, error, ok } from './answer.js'
import { type Faults, NO_FAULTS } from './faults.js'

export type SimPortOptions = {
  readonly clock: Clock
  readonly random: Random
  /** Read at each request: later changes apply from then on. @default none */
  readonly faults?: Faults
  readonly name?: string
  /** One way, in milliseconds. @default 5 to 15 */
  readonly latencyMs?: { readonly min: number; readonly max: number }
  /** The lag of this replica behind the chain, read at each request. @default 0 */
  readonly lagMs?: () => number
  /** Methods that it answers with HTTP 403. @default none */
  readonly forbidden?: ReadonlySet<string>
  /** Counts at a number further below the head than this are pruned. @default none */
  readonly prunedBlocks?: number | undefined
  /** Answers a call in place of the chain; `view` is the view of this replica. @default never */
  readonly untrue?: (call: RpcCall, view: () => View) => RpcReply | undefined
  /**
   * A node that counts its mempool processes requests concurrently, as geth and reth do: other requests come
   * between the transactions of a batch. @default false
   */
  readonly sideBySide?: boolean
  /** Called for each fault as it strikes. */
  readonly strike?: (fault: string) => void
  /** Called with all bytes that were sent to this port, arrived or not. */
  readonly onRaw?: (raw: Hex) => void
  /** Called for each request as it is sent, with the promise of its answers. */
  readonly onAsked?: (answer: Promise<unknown>) => void
  /** Called for each request once its answer is there. */
  readonly onAnswer?: (calls: readonly RpcCall[], replies: readonly RpcReply[], askedMs: number) => void
}

const TAGS: ReadonlySet<unknown> = new Set(['latest', 'pending', 'safe', 'finalized'])
const TIMEOUT_MS = 10_000
const TORN_MS_MAX = 400
const DELAY_MS_MAX = 1_500
const STALE_MS_MAX = 6_000
const LATE_MS_MAX = 5_000
const RETRY_AFTER_MS = 1_000
const POISON_APART_MS = 2_000
// The largest number of parts of a request, and the longest time between two.
const PARTS_MAX = 3
const APART_MS_MAX = 4

/** A port onto the simulated chain: one replica, with its own latency, lag and faults. */
export function createSimPort(chain: SimChain, options: SimPortOptions): Port {
  const { clock, random, faults = NO_FAULTS, latencyMs = { min: 5, max: 15 }, forbidden } = options
  const {
    name = 'sim',
    lagMs = () => 0,
    sideBySide = false,
    onRaw,
    onAsked,
    onAnswer,
    strike,
    prunedBlocks,
  } = options
  const stats = { requests: 0, calls: 0 }
  const seen = new Set<string>()
  let closed = false

  function strikes(fault: keyof Faults): boolean {
    const struck = chance(random, faults[fault])
    if (struck) strike?.(fault)
    return struck
  }

  const latency = () => latencyMs.min + random() * (latencyMs.max - latencyMs.min)

  function one(call: RpcCall, staleMs: number): RpcReply {
    if (forbidden?.has(call.method)) {
      return { ok: false, failure: { kind: 'http', status: 403, message: 'Forbidden' } }
    }
    // Base's public endpoints limit by call, not by request.
    if (strikes('rateLimited')) return error(-32016, 'over rate limit')
    const untrue = options.untrue?.(call, () => viewOf(staleMs))
    if (untrue !== undefined) return untrue
    if (call.method === 'eth_sendRawTransaction') return sendRaw(call)
    const count = call.method === 'eth_getTransactionCount'
    const counts = count && TAGS.has(call.params[1])
    const older = counts && strikes('countBackwards') ? between(random, 500, STALE_MS_MAX) : 0
    const view = viewOf(staleMs + older)
    if (count && !counts && isPruned(call.params[1], view)) return PRUNED
    const reply = answer(chain, view, call)
    if (counts && reply.ok && clock.now() >= poisonedUntilMs && strikes('poisonedCount')) {
      poisonedUntilMs = clock.now() + POISON_APART_MS
      return ok(`0x${(Number(reply.result) + between(random, 1, 5)).toString(16)}`)
    }
    return strikes('malformed') ? ok(MALFORMED[between(random, 0, MALFORMED.length - 1)]) : reply
  }

  // Consecutive false counts cannot be distinguished from the truth, so they are limited.
  let poisonedUntilMs = 0

  function viewOf(olderMs: number): View {
    const behindMs = lagMs() + olderMs
    const view = chain.view(behindMs)
    if (behindMs > 0 && ancestor(chain.head, view.head.number) !== view.head) strike?.('forkShown')
    return view
  }

  function isPruned(selector: unknown, view: View): boolean {
    if (prunedBlocks === undefined || typeof selector !== 'string') return false
    const pruned = Number(selector) < view.head.number - prunedBlocks
    if (pruned) strike?.('pruned')
    return pruned
  }

  function sendRaw(call: RpcCall): RpcReply {
    if (strikes('moody')) return MOODS[between(random, 0, MOODS.length - 1)] as RpcReply
    const raw = call.params[0] as Hex
    const again = seen.has(raw)
    seen.add(raw)
    if ((again && strikes('swallowed')) || strikes('neverPooled')) {
      return ok(decodeTransaction(raw)?.hash ?? keccak256(raw))
    }
    return answer(chain, chain.view(), call)
  }

  async function batch(calls: readonly RpcCall[], batchOptions?: BatchOptions): Promise<readonly RpcReply[]> {
    if (closed || batchOptions?.signal?.aborted) return fail(calls, ABORTED)
    stats.requests++
    stats.calls += calls.length
    for (const { method, params } of calls) if (method === 'eth_sendRawTransaction') onRaw?.(params[0] as Hex)
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
      const finish = (replies: readonly RpcReply[]) => {
        giveUp()
        batchOptions?.signal?.removeEventListener('abort', onAbort)
        resolve(replies)
      }
      batchOptions?.signal?.addEventListener('abort', onAbort)
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

  /** The calls in order, against one view, or in parts between which the world changes. */
  function execute(calls: readonly RpcCall[], done: (replies: readonly RpcReply[]) => void): void {
    const staleMs = strikes('staleRead') ? between(random, 200, STALE_MS_MAX) : 0
    const run = (part: readonly RpcCall[]) => part.map((call) => one(call, staleMs))
    if (calls.length > 1 && strikes('torn')) {
      runApart([calls.slice(0, calls.length >> 1), calls.slice(calls.length >> 1)], TORN_MS_MAX, run, done)
    } else if (isInterleaved(calls)) runApart(partsOf(calls), APART_MS_MAX, run, done)
    else done(run(calls))
  }

  /** A sequencer processes transactions in order. */
  function isInterleaved(calls: readonly RpcCall[]): boolean {
    return sideBySide && chain.settings.pending === 'mempool' && calls.filter(isSend).length > 1
  }

  function partsOf(calls: readonly RpcCall[]): (readonly RpcCall[])[] {
    const cuts = Array.from({ length: between(random, 0, PARTS_MAX - 1) }, () =>
      between(random, 1, calls.length - 1),
    ).sort((a, b) => a - b)
    return [0, ...cuts].map((from, index) => calls.slice(from, cuts[index])).filter((part) => part.length > 0)
  }

  function runApart(
    parts: readonly (readonly RpcCall[])[],
    apartMsMax: number,
    run: (part: readonly RpcCall[]) => readonly RpcReply[],
    done: (replies: readonly RpcReply[]) => void,
  ): void {
    const [part = [], ...rest] = parts
    const replies = run(part)
    if (rest.length === 0) return done(replies)
    clock.setTimer(
      () => runApart(rest, apartMsMax, run, (more) => done([...replies, ...more])),
      between(random, Math.min(20, apartMsMax >> 1), apartMsMax),
    )
  }

  /** An answer that did not come from the node, drawn for the whole request. */
  function brokenAnswer(): { readonly failure: RpcFailure; readonly executed: boolean } | undefined {
    if (strikes('lostResponse')) return { failure: RESET, executed: true }
    if (strikes('http503')) return { failure: UNAVAILABLE, executed: chance(random, 0.5) }
    if (strikes('brokenBody')) return { failure: NOT_JSON, executed: true }
    return undefined
  }

  return {
    name,
    kind: 'http',
    stats,
    batch,
    close() {
      closed = true
    },
  }
}

const isSend = ({ method }: RpcCall) => method === 'eth_sendRawTransaction'

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
// geth's message for a pruned state (trie/errors.go, MissingNodeError).
const PRUNED = error(-32000, 'missing trie node b10c (path ) state is not available')
// Refusals unrelated to the bytes: of a node that syncs, has a fee cap (geth internal/ethapi), orders
// transactions (Nitro), screens them (Besu), sees another base fee, or lacks the method.
const MOODS: readonly RpcReply[] = [
  error(-32000, 'transaction indexing is in progress: node is syncing'),
  error(-32000, 'tx fee (1.25 ether) exceeds the configured cap (1.00 ether)'),
  error(-32000, 'nonce too high: address 0xaa, tx: 9 state: 7'),
  error(-32000, 'address already reserved'),
  error(-32000, 'max fee per gas less than block base fee: address 0xaa, maxFeePerGas: 1, baseFee: 2'),
  error(-32007, 'Sender account not authorized to send transactions'),
  error(-32601, 'the method eth_sendRawTransaction does not exist/is not available'),
  error(-32603, 'internal error'),
]
// Shapes that no decoder may accept as a value.
const MALFORMED: readonly unknown[] = [undefined, 7, '0xzz', [], { unexpected: true }, 'internal']
