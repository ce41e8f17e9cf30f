import type { PoolEndpoint } from '../../chain/endpoints/endpointPool.js'
import {
  createEndpointSender,
  type EndpointSender,
  type EndpointSenderContext,
  type EndpointSenderParts,
} from './endpointSender.js'

/** The sender of each endpoint, created on first use. */
export type EndpointSenders = {
  of(endpoint: PoolEndpoint): EndpointSender
  /** Undefined if nothing was offered to the endpoint yet. */
  find(endpoint: PoolEndpoint): EndpointSender | undefined
  all(): Iterable<EndpointSender>
  some(is: (sender: EndpointSender) => boolean): boolean
  /** Returns false if the limit was the same before. */
  limitAccount(max: number | undefined): boolean
}

export function createEndpointSenders(
  context: EndpointSenderContext,
  parts: EndpointSenderParts,
): EndpointSenders {
  const senders = new Map<PoolEndpoint, EndpointSender>()
  let accountMax: number | undefined

  return {
    of(endpoint) {
      let sender = senders.get(endpoint)
      if (sender === undefined) {
        sender = createEndpointSender(context, endpoint, parts)
        sender.limitAccount(accountMax)
        senders.set(endpoint, sender)
      }
      return sender
    },
    find: (endpoint) => senders.get(endpoint),
    all: () => senders.values(),
    some(is) {
      for (const sender of senders.values()) if (is(sender)) return true
      return false
    },
    limitAccount(max) {
      if (max === accountMax) return false
      accountMax = max
      for (const sender of senders.values()) sender.limitAccount(max)
      return true
    },
  }
}
