import { type Hex, keccak256 } from 'viem'
import type { Clock, Random } from '../../../src/platform/clock.js'
import type { RpcCall, RpcReply } from '../../../src/rpc/port.js'
import { ancestor, type View } from '../chain/block.js'
import type { SimChain } from '../chain/simChain.js'
import { isTag, type Tags } from '../chain/tags.js'
import { between } from '../random.js'
import { decodeTransaction } from '../transaction.js'
import { answer, error, ok } from './answer.js'
import type { Faults } from './faults.js'

export type ReplicaOptions = {
  readonly clock: Clock
  readonly random: Random
  /** The lag of this replica behind the chain, read at each request. @default 0 */
  readonly lagMs?: (() => number) | undefined
  /** Methods that it answers with HTTP 403. @default none */
  readonly forbidden?: ReadonlySet<string> | undefined
  /** The answers of the replica for tags. @default by the depths of the chain's settings */
  readonly tags?: Tags | undefined
  /** Counts at a number further below the head than this are pruned. @default none */
  readonly prunedBlocks?: number | undefined
  /** Answers a call in place of the chain; `view` is the view of this replica. @default never */
  readonly untrue?: ((call: RpcCall, view: () => View) => RpcReply | undefined) | undefined
  /** Called for each fault as it strikes. */
  readonly strike?: ((fault: string) => void) | undefined
}

/** Draws whether a fault strikes now. */
type Strikes = (fault: keyof Faults) => boolean

/** Answers one call as this replica, whose view is older by `staleMs`. */
type AnswerCall = (call: RpcCall, staleMs: number) => RpcReply

const STALE_MS_MAX = 6_000
const TAGS: ReadonlySet<unknown> = new Set(['latest', 'pending', 'safe', 'finalized'])
const POISON_APART_MS = 2_000

/** One node of the chain, with its lag and the faults of single calls. */
export function createReplica(chain: SimChain, options: ReplicaOptions, strikes: Strikes): AnswerCall {
  const { clock, random, lagMs = () => 0, forbidden, tags, prunedBlocks, strike } = options
  const seen = new Set<string>()
  // Consecutive false counts cannot be distinguished from the truth, so they are limited.
  let poisonedUntilMs = 0

  function viewOf(olderMs: number): View {
    const behindMs = lagMs() + olderMs
    const view = chain.view(behindMs)
    if (behindMs > 0 && ancestor(chain.head, view.head.number) !== view.head) strike?.('forkShown')
    return tags === undefined ? view : { ...view, tags }
  }

  function strikeTag(rules: Tags, selector: unknown): void {
    if (!isTag(selector)) return
    const rule = rules[selector]
    strike?.(`tag ${rule.kind === 'moving' && rule.stuckMs !== undefined ? 'stuck' : rule.kind}`)
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

  return (call, staleMs) => {
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
    if (tags !== undefined && call.method === 'eth_getBlockByNumber') strikeTag(tags, call.params[0])
    const reply = answer(chain, view, call)
    if (counts && reply.ok && clock.now() >= poisonedUntilMs && strikes('poisonedCount')) {
      poisonedUntilMs = clock.now() + POISON_APART_MS
      return ok(`0x${(Number(reply.result) + between(random, 1, 5)).toString(16)}`)
    }
    return strikes('malformed') ? ok(MALFORMED[between(random, 0, MALFORMED.length - 1)]) : reply
  }
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

/** Executes the calls of a request that has arrived at a node. */
type Execute = (calls: readonly RpcCall[], done: (replies: readonly RpcReply[]) => void) => void

const TORN_MS_MAX = 400
// The largest number of parts of a request, and the longest time between two.
const PARTS_MAX = 3
const APART_MS_MAX = 4

export function createExecute(options: {
  readonly clock: Clock
  readonly random: Random
  /** The node executes the calls of a request in parts if it has several transactions. */
  readonly isInterleaving: boolean
  readonly strikes: Strikes
  readonly answerCall: AnswerCall
}): Execute {
  const { clock, random, isInterleaving, strikes, answerCall } = options

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

  /** The calls in order, against one view, or in parts between which the world changes. */
  return (calls, done) => {
    const staleMs = strikes('staleRead') ? between(random, 200, STALE_MS_MAX) : 0
    const run = (part: readonly RpcCall[]) => part.map((call) => answerCall(call, staleMs))
    if (calls.length > 1 && strikes('torn')) {
      runApart([calls.slice(0, calls.length >> 1), calls.slice(calls.length >> 1)], TORN_MS_MAX, run, done)
    } else if (isInterleaving && calls.filter(isSend).length > 1)
      runApart(partsOf(calls), APART_MS_MAX, run, done)
    else done(run(calls))
  }
}

const isSend = ({ method }: RpcCall) => method === 'eth_sendRawTransaction'
