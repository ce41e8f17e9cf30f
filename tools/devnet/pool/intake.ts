import { fail, type RpcReply } from '../rpc/rpcTypes.js'
import type { PoolSend } from './pool.js'

export const NODE_GONE: RpcReply = fail(-32603, 'the node behind the devnet is gone')

export type Arrival = { readonly send: PoolSend; readonly answer: (reply: RpcReply) => void }

/**
 * Admits sends in order of arrival. All waiting sends form one batch, so that a whole burst shares one round
 * of calls to anvil.
 */
export function createIntake(
  take: (batch: readonly Arrival[]) => Promise<void>,
): (send: PoolSend) => Promise<RpcReply> {
  let waiting: Arrival[] = []
  let working = false

  async function work(): Promise<void> {
    working = true
    while (waiting.length > 0) {
      const batch = waiting
      waiting = []
      await take(batch).catch(() => {
        for (const { answer } of batch) answer(NODE_GONE)
      })
    }
    working = false
  }

  return (send) =>
    new Promise((answer) => {
      waiting.push({ send, answer })
      if (!working) void work()
    })
}
