import { type Clock, nextTurn, type Random } from '../../../src/platform/clock.js'

/** One call of a request that is being served. */
export type Served = { readonly request: object }

// Maximum calls of one request that geth executes before another request gets its turn.
const STEP_CALLS_MAX = 16

/**
 * Serves requests in parallel, with the calls of each request in order, as geth serves the requests of one
 * client. The next request is drawn at random, so that batches interleave, and a later request may end before
 * an earlier one.
 */
export function createParallelServing<T extends Served>(options: {
  readonly clock: Clock
  readonly random: Random
  readonly work: (calls: readonly T[]) => Promise<void>
}): (calls: readonly T[]) => void {
  const { clock, random } = options
  const open = new Map<object, T[]>()
  let isRunning = false

  async function run(): Promise<void> {
    isRunning = true
    while (open.size > 0) {
      const requests = [...open.keys()]
      const request = requests[Math.floor(random() * requests.length)] as object
      const calls = open.get(request) as T[]
      const step = calls.splice(0, 1 + Math.floor(random() * STEP_CALLS_MAX))
      if (calls.length === 0) open.delete(request)
      await options.work(step)
      // Other requests arrive in the meantime.
      await nextTurn(clock)
    }
    isRunning = false
  }

  return (calls) => {
    for (const call of calls) {
      const waiting = open.get(call.request)
      if (waiting === undefined) open.set(call.request, [call])
      else waiting.push(call)
    }
    if (!isRunning) void run()
  }
}
