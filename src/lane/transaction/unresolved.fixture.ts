import type { Process } from '../../api/sender/processes.fixture.js'
import {
  nameOf,
  refuses,
  type SimLane,
  swallows,
  TIMES_OUT,
  transfer,
} from '../../api/sender/simLane.fixture.js'
import type { Tx } from '../../types/index.js'

/** Something else used nonce 0, and the node has pruned the evidence by the time it answers again. */
export async function unresolved(
  lane: SimLane,
  before = async (_: Tx) => {},
  { sender, events }: Pick<Process, 'sender' | 'events'> = lane,
): Promise<Tx> {
  let silent = true
  lane.script = (call, tx) => {
    if (tx) return nameOf(tx) === 'noop' ? undefined : swallows(tx)
    const selector = call.params[1]
    if (call.method.startsWith('eth_getBlockBy') && selector === true)
      return refuses('pruned history unavailable')
    if (call.method !== 'eth_getTransactionCount' || selector === 'latest' || selector === 'pending')
      return undefined
    if (silent) return TIMES_OUT
    return Number(selector) >= lane.chain.head.number - 1 ? undefined : refuses('missing trie node')
  }
  const tx = await lane.settle(sender.send(transfer(1)))
  await before(tx)
  lane.foreign()
  await lane.blocks(5)
  silent = false
  await lane.until(() => events('unresolved').length >= 1)
  return tx
}
