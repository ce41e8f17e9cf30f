import { isExplicit, isExplicitRefusal } from './explicitRefusal.js'
import type { SendOutcome } from './outcome.js'
import { call, type Port, type RpcCall, type RpcReply } from './port.js'
import type { EndpointProfile } from './profile.js'

/** EIP-7966: the answer to the send is the receipt, once the node has it. */
export const SEND_SYNC = 'eth_sendRawTransactionSync'

/**
 * The longest time for which a node is asked to wait for the receipt, in milliseconds. Base answers -32602 to
 * more than 6,000; geth takes up to a minute and reth 30 s by default.
 */
export const SYNC_MS_MAX = 6_000

/** Whether an endpoint has the method, and in which form: see `EndpointProfile.sendSync`. */
export type SendSync = EndpointProfile['sendSync']

const WITHOUT_TIMEOUT = 'withoutTimeout'

/**
 * The timeout is a number, as EIP-7966 says and geth 1.17 requires. anvil 1.7 refuses a second parameter and
 * waits for 30 s (both tested).
 */
export function sendSyncCall(raw: string, form: SendSync, timeoutMs: number): RpcCall {
  const params = form === WITHOUT_TIMEOUT ? [raw] : [raw, Math.max(1, Math.floor(timeoutMs))]
  return { method: SEND_SYNC, params }
}

const EMPTY = '0x'

/**
 * Finds out whether an endpoint has the method, without a transaction: it refuses empty bytes as
 * `eth_sendRawTransaction` does, word for word. Resolves with undefined if its answers do not show it.
 */
export async function probeSendSync(port: Port, timeoutMs: number): Promise<SendSync> {
  const ask = ({ method, params }: RpcCall) => call(port, method, params, { timeoutMs })
  const [plain, timed] = await Promise.all([
    ask({ method: 'eth_sendRawTransaction', params: [EMPTY] }),
    ask(sendSyncCall(EMPTY, true, SYNC_MS_MAX)),
  ])
  if (!isRefusal(plain)) return undefined
  if (isAlike(plain, timed)) return true
  if (!isMissing(timed)) {
    const untimed = await ask(sendSyncCall(EMPTY, WITHOUT_TIMEOUT, SYNC_MS_MAX))
    if (isAlike(plain, untimed)) return WITHOUT_TIMEOUT
    if (!isRefusal(untimed)) return undefined
  }
  return isRefusal(timed) || isMissing(timed) ? false : undefined
}

/** The node's own answer about the bytes or the parameters, not about its state. */
const isRefusal = (reply: RpcReply): boolean => !reply.ok && isExplicit(reply.failure)

const isAlike = (one: RpcReply, other: RpcReply): boolean =>
  isRefusal(other) && !one.ok && !other.ok && one.failure.message === other.failure.message

const METHOD_MISSING = -32601
const INVALID_PARAMS = -32602

const isMissing = (reply: RpcReply): boolean => !reply.ok && rpcCodeOf(reply) === METHOD_MISSING

function rpcCodeOf(reply: RpcReply): number | undefined {
  if (reply.ok) return undefined
  const { failure } = reply
  if (failure.kind === 'rpc') return failure.code
  return failure.kind === 'http' ? failure.rpc?.code : undefined
}

/** 408 and 429 concern the moment, not the method. */
const PASSING_STATUSES: ReadonlySet<number> = new Set([408, 429])

/**
 * True if the answer to a sync send is about the method, as far as it can be known: the endpoint does not have
 * it, does not allow it, or refuses the call in unknown words. Such an answer says nothing about the bytes.
 */
export function refusesSendSync(reply: RpcReply | undefined, outcome: SendOutcome): boolean {
  if (reply === undefined || reply.ok || outcome.outcome !== 'unknown') return false
  if (outcome.reason === 'methodMissing' || rpcCodeOf(reply) === INVALID_PARAMS) return true
  const { failure } = reply
  if (failure.kind === 'http' && failure.rpc === undefined)
    return failure.status >= 400 && failure.status < 500 && !PASSING_STATUSES.has(failure.status)
  return isExplicitRefusal(reply, outcome)
}
