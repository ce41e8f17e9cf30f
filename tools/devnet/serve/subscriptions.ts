import type { SubscriptionTopic } from '../faults/faultRules.js'
import type { FaultEngine } from '../faults/faults.js'
import type { RpcRequest } from '../rpc/rpcTypes.js'
import {
  fail,
  hexOf,
  INVALID_PARAMS,
  METHOD_NOT_FOUND,
  ok,
  type RpcReply,
  SERVER_ERROR,
} from '../rpc/rpcTypes.js'

/** The subscriptions of one socket. */
export type Subscriber = {
  /** Answers `eth_subscribe` and `eth_unsubscribe`. */
  answer(call: RpcRequest): RpcReply
  /** Starts the notifications of the subscriptions whose ids were sent: a client must know the id first. */
  begin(): void
  close(): void
}

export type Subscriptions = {
  open(socket: SubscriberSocket): Subscriber
  /** Whether a subscription of the topic exists. */
  wants(topic: SubscriptionTopic): boolean
  /** Sends one notification to each subscription of the topic. Undefined skips a subscription. */
  publish(topic: SubscriptionTopic, resultFor: (params: readonly unknown[]) => unknown): void
}

export type SubscriberSocket = { send(text: string): void; terminate(): void }

type Subscription = {
  readonly topic: SubscriptionTopic
  /** Parameters after the topic. */
  readonly params: readonly unknown[]
  readonly socket: SubscriberSocket
  /** Notifications from before the client knew the id; undefined afterwards. */
  early: string[] | undefined
  isSilent: boolean
  /** A notification that is sent after the next one. */
  overtaken: string | undefined
}

const STANDARD: readonly SubscriptionTopic[] = ['newHeads', 'logs', 'newPendingTransactions']
const FLASHBLOCKS: readonly SubscriptionTopic[] = [
  'newFlashblocks',
  'newFlashblockTransactions',
  'pendingLogs',
]
const METHODS = new Set(['eth_subscribe', 'eth_unsubscribe'])

export function isSubscription(method: string): boolean {
  return METHODS.has(method)
}

/** The answer of a transport that cannot push, such as HTTP. */
export const NO_NOTIFICATIONS: RpcReply = fail(METHOD_NOT_FOUND, 'notifications not supported')

/**
 * Keeps the subscriptions of all sockets, and applies the faults of notifications. Under `rules: 'base'` the
 * flashblock topics exist in each mode; on a chain without flashblocks they stay silent, as on Base.
 */
export function createSubscriptions(options: {
  readonly rules: 'base' | 'geth' | 'anvil'
  readonly faults: Pick<FaultEngine, 'notification'>
}): Subscriptions {
  const { rules, faults } = options
  const topics = new Set<unknown>(rules === 'base' ? [...STANDARD, ...FLASHBLOCKS] : STANDARD)
  const all = new Map<string, Subscription>()
  let ids = 0

  function subscribe([topic, ...params]: readonly unknown[], socket: SubscriberSocket): RpcReply {
    if (!topics.has(topic)) {
      return rules === 'geth'
        ? fail(METHOD_NOT_FOUND, `no "${String(topic)}" subscription in eth namespace`)
        : fail(INVALID_PARAMS, 'Invalid params')
    }
    ids += 1
    const id = hexOf(ids)
    all.set(id, {
      topic: topic as SubscriptionTopic,
      params,
      socket,
      early: [],
      isSilent: false,
      overtaken: undefined,
    })
    return ok(id)
  }

  function unsubscribe([id]: readonly unknown[], socket: SubscriberSocket): RpcReply {
    const isOwn = all.get(String(id))?.socket === socket
    if (isOwn) all.delete(String(id))
    else if (rules === 'geth') return fail(SERVER_ERROR, 'subscription not found')
    return ok(isOwn)
  }

  function notify(id: string, one: Subscription, result: unknown): void {
    const text = JSON.stringify({
      jsonrpc: '2.0',
      method: 'eth_subscription',
      params: { subscription: id, result },
    })
    const fault = faults.notification(one.topic, result)?.fault
    if (fault === 'silentSubscription') one.isSilent = true
    if (fault === 'droppedSocket') one.socket.terminate()
    if (one.isSilent || fault === 'droppedSocket' || fault === 'skippedNotification') return
    if (fault === 'reorderedNotification' && one.overtaken === undefined) {
      one.overtaken = text
      return
    }
    send(one, text)
    if (fault === 'repeatedNotification') send(one, text)
    if (one.overtaken !== undefined) send(one, one.overtaken)
    one.overtaken = undefined
  }

  return {
    open: (socket) => ({
      answer: ({ method, params }) =>
        method === 'eth_subscribe' ? subscribe(params, socket) : unsubscribe(params, socket),
      begin() {
        for (const one of all.values()) {
          if (one.socket !== socket || one.early === undefined) continue
          const { early } = one
          one.early = undefined
          for (const text of early) send(one, text)
        }
      },
      close() {
        for (const [id, one] of all) if (one.socket === socket) all.delete(id)
      },
    }),
    wants: (topic) => [...all.values()].some((one) => one.topic === topic),
    publish(topic, resultFor) {
      for (const [id, one] of [...all]) {
        const result = one.topic === topic ? resultFor(one.params) : undefined
        if (result !== undefined) notify(id, one, result)
      }
    },
  }
}

function send(one: Subscription, text: string): void {
  if (one.early === undefined) one.socket.send(text)
  else one.early.push(text)
}
