import { isMethodRefused, resultOf } from '../../rpc/errors.js'
import type { Port } from '../../rpc/port.js'
import type { EndpointPool } from './endpointPool.js'
import { FEE_HISTORY, type Tips, tipsCall, tipsOf } from './tips.js'

/** The tips that recent blocks paid, read on demand: once for each newest block, for all lanes of the endpoint pool. */
export type FeeHistory = {
  /**
   * The tips of each preset, from the reader, or from the given port, whose answer is not shared. Undefined if the endpoint
   * has no `eth_feeHistory`, or if no transaction of the last blocks paid a tip.
   */
  tips(port?: Port): Promise<Tips | undefined>
}

export function createFeeHistory(
  endpointPool: Pick<EndpointPool, 'tracker'> & { readonly reader: { readonly port: Port } },
  timeoutMs: number,
): FeeHistory {
  // The method is not tried again: a node does not gain a method while it runs.
  const without = new WeakSet<Port>()
  let asked: { readonly head: unknown; readonly tips: Promise<Tips | undefined> } | undefined

  async function ask(port: Port): Promise<Tips | undefined> {
    if (without.has(port)) return undefined
    const [reply] = await port.batch([tipsCall], { timeoutMs })
    if (reply !== undefined && !reply.ok && isMethodRefused(FEE_HISTORY, reply.failure)) {
      without.add(port)
      return undefined
    }
    return tipsOf(resultOf(FEE_HISTORY, reply))
  }

  return {
    tips(port) {
      if (port !== undefined) return ask(port)
      const head = endpointPool.tracker.newest?.hash
      // A failure is kept too: the next block triggers a new read, and the caller uses another price until then.
      if (asked === undefined || asked.head !== head) asked = { head, tips: ask(endpointPool.reader.port) }
      return asked.tips
    },
  }
}
