import { encodeBlock } from '../codec.js'
import { isMethodRefused } from '../errors.js'
import { isNodesAnswer } from '../limits.js'
import type { BatchOptions, Port, RpcCall } from '../port.js'
import type { ProfileWatch } from '../profile.js'
import { changingPlace, pendingStateRequest } from './pendingState.js'

/**
 * Asks an endpoint, in one request, for its client and whether state at `pending` is served. The profile learns
 * from the answers. State at `pending` stays unknown on a chain without EIP-2935, and if a block came between
 * the probe and this request.
 *
 * @param latest the number of the newest block
 */
export async function probeTraits(
  port: Port,
  profile: ProfileWatch,
  latest: number,
  options: BatchOptions = {},
): Promise<void> {
  const state = pendingStateRequest(profile, [changingPlace(latest)], true)
  const client: RpcCall = { method: 'web3_clientVersion', params: [] }
  const [version, ...replies] = await port.batch([client, ...state.calls], options)
  if (version?.ok && typeof version.result === 'string')
    profile.observe({ kind: 'client', version: version.result })
  state.read(replies)
}

/**
 * Asks an endpoint, in one request, for the methods that not every endpoint serves. They change nothing: the
 * receipts of a block, and a simulation of no block.
 */
export async function probeMethods(port: Port, profile: ProfileWatch, latest: number): Promise<void> {
  const calls: readonly RpcCall[] = [
    { method: 'eth_getBlockReceipts', params: [encodeBlock(latest)] },
    { method: 'eth_simulateV1', params: [{ blockStateCalls: [] }, 'latest'] },
  ]
  const replies = await port.batch(calls)
  for (const [index, { method }] of calls.entries()) {
    const reply = replies[index]
    if (reply === undefined) continue
    if (reply.ok) profile.observe({ kind: 'methodAnswered', method })
    else if (isMethodRefused(method, reply.failure)) profile.observe({ kind: 'methodRefused', method })
    // A node that knows the method says what is wrong with an empty simulation.
    else if (isNodesAnswer(reply)) profile.observe({ kind: 'methodAnswered', method })
  }
}
