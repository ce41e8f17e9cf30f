import type { Clock, Random } from '../../../src/platform/clock.js'
import type { RpcCall, RpcReply } from '../../../src/rpc/port.js'
import { between } from '../random.js'
import { type AnswerCall, STALE_MS_MAX, type Strikes } from './replica.js'

/** Executes the calls of a request that has arrived at a node. */
export type Execute = (calls: readonly RpcCall[], done: (replies: readonly RpcReply[]) => void) => void

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
