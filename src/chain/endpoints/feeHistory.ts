import { isMethodRefused, resultOf } from '../../rpc/errors.js'
import type { Port } from '../../rpc/port.js'
import type { EndpointPool } from './endpointPool.js'
import { FEE_HISTORY, type Tips, tipsCall, tipsOf } from './tips.js'

/** What blocks paid for inclusion, read when somebody needs it: once for each newest block, for all lanes of the hub. */
export type FeeHistory = {
  /**
   * By the endpoint that is read, or by the port that is given, which is asked anew. Undefined where it has no
   * `eth_feeHistory`, and where nobody paid a tip in the last blocks.
   */
  tips(port?: Port): Promise<Tips | undefined>
}

export function createFeeHistory(
  endpointPool: Pick<EndpointPool, 'tracker'> & { readonly reader: { readonly port: Port } },
  timeoutMs: number,
): FeeHistory {
  // Not asked again: a node does not learn a method while it runs.
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
      // What failed is kept as well: it is asked again with the next block, and the caller goes by something else.
      if (asked === undefined || asked.head !== head) asked = { head, tips: ask(endpointPool.reader.port) }
      return asked.tips
    },
  }
}
