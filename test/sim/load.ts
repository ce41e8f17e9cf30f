import type { RpcCall } from '../../src/rpc/port.js'
import type { Violation } from './oracle.js'

/** Counts the polls of each endpoint. */
export type LoadJudge = {
  /** The subject sent this request. */
  asked(port: string, calls: readonly RpcCall[], askedMs: number): void
  violations(): readonly Violation[]
}

const WINDOW_MS = 1_000
/**
 * The most polls of one process in one second. A new transaction is polled for every 50 ms until the rhythm of the
 * chain is known; announced heads, true or invented, may add a few.
 */
const POLLS_MAX = 25

/** `processes`: the number of senders, each with its own poller. */
export function createLoadJudge({ processes }: { readonly processes: number }): LoadJudge {
  const polls = new Map<string, number[]>()
  const most = () =>
    [...polls].map(([port, times]) => ({
      port,
      polls: mostWithin(
        times.sort((a, b) => a - b),
        WINDOW_MS,
      ),
    }))
  return {
    asked(port, calls, askedMs) {
      if (!calls.some(isPoll)) return
      const times = polls.get(port)
      if (times === undefined) polls.set(port, [askedMs])
      else times.push(askedMs)
    },
    violations: () =>
      most()
        .filter((one) => one.polls > POLLS_MAX * processes)
        .map((one) => ({ promise: 'load', text: `${one.port} was polled ${one.polls} times in a second` })),
  }
}

const isPoll = ({ method, params: [selector] }: RpcCall) =>
  method === 'eth_getBlockByNumber' && selector === 'latest'

/** The most of the sorted times within one window. */
function mostWithin(times: readonly number[], windowMs: number): number {
  let most = 0
  let from = 0
  times.forEach((time, index) => {
    while (time - (times[from] as number) >= windowMs) from++
    most = Math.max(most, index - from + 1)
  })
  return most
}
