import type { Clock, Random } from '../../../src/platform/clock.js'
import type { NotificationListener, RpcCall, RpcReply } from '../../../src/rpc/port.js'
import { ancestor, type SimBlock } from '../chain/block.js'
import { between, chance } from '../random.js'
import type { PushFaults } from '../socketPlan.js'
import { error, ok } from './answer.js'
import { quantity } from './wire.js'

/** The heads that a node announces, and the socket over which it does. */
export type Heads = {
  /** The node may show another head. */
  shown(): void
  /** Answers `eth_subscribe` and `eth_unsubscribe`; undefined for another call. */
  answer(call: RpcCall): RpcReply | undefined
  listen(listener: NotificationListener): () => void
  /** The socket is closed: its subscriptions are gone. It stays down for a while. */
  drop(forMs: number): void
  /** Called when the socket is closed, before its listeners know. */
  onDrop(closed: () => void): void
  /** Ends that while. */
  up(): void
  readonly isDown: boolean
}

export type HeadsOptions = {
  readonly clock: Clock
  readonly random: Random
  /** The head of the node that announces. */
  readonly head: () => SimBlock
  /** The header that it announces for a block. */
  readonly headerOf: (block: SimBlock) => unknown
  readonly latencyMs: () => number
  /** Read at each request and each head. */
  readonly faults: PushFaults
  /** The number of heads after which a new subscription becomes silent; undefined for never. */
  readonly silentAfter: () => number | undefined
  readonly count: (event: PushEvent) => void
}

export const PUSH_EVENTS = [
  'head by push',
  'reorganised head',
  'refused subscription',
  'silent subscription',
  'repeated head',
  'skipped head',
  'invented head',
  'late head',
  'dropped socket',
] as const

export type PushEvent = (typeof PUSH_EVENTS)[number]

type Subscription = { readonly id: string; readonly silentAfter: number; heads: number }

const LATE_MS_MAX = 2_000
// geth rpc/errors.go, ErrNotificationsUnsupported.
const REFUSED = error(-32001, 'notifications not supported')

/** As geth does it: one notification for each block of a new branch, in ascending order. */
export function createHeads(options: HeadsOptions): Heads {
  const { clock, random, faults, count } = options
  const subscriptions = new Map<string, Subscription>()
  const listeners = new Set<NotificationListener>()
  const dropped: (() => void)[] = []
  let last = options.head()
  let names = 0
  let arrivesMs = 0
  let downUntilMs = Number.NEGATIVE_INFINITY

  const strikes = (fault: keyof PushFaults) => chance(random, faults[fault])

  /** A socket delivers in order. */
  function post({ id }: Subscription, header: unknown, laterMs: number): void {
    arrivesMs = Math.max(arrivesMs, clock.now() + options.latencyMs() + laterMs)
    clock.setTimer(() => {
      // The connection was closed, or the subscription ended, while it was on its way.
      if (!subscriptions.has(id) || listeners.size === 0) return
      count('head by push')
      for (const listener of [...listeners]) listener.notified(id, header)
    }, arrivesMs - clock.now())
  }

  function announce(subscription: Subscription, header: unknown): void {
    if (subscription.heads++ >= subscription.silentAfter) return count('silent subscription')
    if (strikes('skipped')) return count('skipped head')
    const laterMs = strikes('late') ? between(random, 50, LATE_MS_MAX) : 0
    if (laterMs > 0) count('late head')
    const times = strikes('repeated') ? between(random, 2, 3) : 1
    if (times > 1) count('repeated head')
    for (let time = 0; time < times; time++) post(subscription, header, laterMs)
    if (!strikes('invented')) return
    count('invented head')
    post(subscription, invented(header, between(random, 0, 2)), laterMs)
  }

  return {
    shown() {
      const head = options.head()
      if (head === last) return
      const fresh: SimBlock[] = []
      for (let block: SimBlock | undefined = head; block && !isOn(last, block); block = block.parent)
        fresh.unshift(block)
      const isReorganised = (fresh[0]?.number ?? Number.POSITIVE_INFINITY) <= last.number
      last = head
      if (listeners.size === 0 || subscriptions.size === 0) return
      if (isReorganised) count('reorganised head')
      for (const block of fresh)
        for (const subscription of subscriptions.values()) announce(subscription, options.headerOf(block))
    },
    answer({ method, params }) {
      if (method === 'eth_unsubscribe') return ok(subscriptions.delete(String(params[0])))
      if (method !== 'eth_subscribe') return undefined
      if (strikes('refused')) {
        count('refused subscription')
        return REFUSED
      }
      const id = quantity(++names)
      subscriptions.set(id, { id, heads: 0, silentAfter: options.silentAfter() ?? Number.POSITIVE_INFINITY })
      return ok(id)
    },
    listen(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    drop(forMs) {
      count('dropped socket')
      subscriptions.clear()
      downUntilMs = clock.now() + forMs
      for (const closed of dropped) closed()
      for (const listener of [...listeners]) listener.closed()
    },
    up() {
      downUntilMs = Number.NEGATIVE_INFINITY
    },
    onDrop: (closed) => void dropped.push(closed),
    get isDown() {
      return clock.now() < downUntilMs
    },
  }
}

const isOn = (head: SimBlock, block: SimBlock) => ancestor(head, block.number) === block

/** A head at this height or above, which no branch has. */
function invented(header: unknown, by: number): unknown {
  const { number, hash } = header as { readonly number: string; readonly hash: string }
  return { ...(header as object), number: quantity(Number(number) + by), hash: `0x1e4d${hash.slice(6)}` }
}
