import { type Hex, pad, toHex } from 'viem'
import { rawBlock } from '../../../test/contract/stubPort.js'
import { createVirtualClock, type VirtualClock } from '../../../test/sim/virtualClock.js'
import type { NotificationListener, Notifications, Port, RpcCall, RpcReply } from '../../rpc/port.js'
import { createTracker } from './blockPoller.js'
import { IDLE_FOLLOWER, type Pace } from './follower.js'

const PERIOD_MS = 200
const TRIP_MS = 2

type Faults = {
  readonly announces: boolean
  /** Announcements are silent, and each fifth request is lost. */
  readonly fails?: boolean
}

type Own = ReadonlySet<NotificationListener>

type Connection = {
  readonly port: Port
  /** The client closes its socket: every later call fails. */
  disconnect(): void
  /** The present subscription of the connection announces nothing any more. */
  deafen(): void
}

const CLOSED: RpcReply = { ok: false, failure: { kind: 'network', message: 'the socket is closed' } }
const URL_OF_NODE = 'ws://node/secret-of-the-url'

/** A node whose blocks are made by calls, and ports to it. */
function createNode(clock: VirtualClock, { announces, fails = false }: Faults) {
  const blocks: { hash: Hex; parentHash: Hex; atMs: number }[] = []
  const calls: { readonly method: string; readonly atMs: number }[] = []
  const listeners = new Map<NotificationListener, string | undefined>()
  const switches = { announces, answers: true, pace: 'head' as Pace, refuses: false }
  /** Passes an announcement on to `send` as often as it is to arrive. */
  const wire = {
    announce: (number: number, send: (number: number) => void) => {
      if (!fails) send(number)
    },
  }
  let names = 0
  let subscriptions = 0
  let requests = 0

  function grow(): number {
    const parentHash = blocks.at(-1)?.hash ?? pad('0x', { size: 32 })
    blocks.push({ hash: pad(toHex(++names), { size: 32 }), parentHash, atMs: clock.now() })
    return blocks.length - 1
  }

  const raw = (number: number) => {
    const block = blocks[number]
    if (block === undefined) return null
    const { hash, parentHash } = block
    return rawBlock({ number: toHex(number), hash, parentHash, timestamp: '0x1', transactions: [] })
  }

  const notify = (number: number) => announce(raw(number))

  function announce(block: unknown): void {
    for (const [listener, id] of [...listeners])
      if (id !== undefined) clock.setTimer(() => listener.notified(id, block), TRIP_MS)
  }

  /** `own`: the listeners of the connection. */
  function answer({ method, params }: RpcCall, own: Own): RpcReply {
    if (method === 'eth_subscribe') {
      if (switches.refuses) return { ok: false, failure: { kind: 'rpc', code: -32_601, message: 'no' } }
      const id = `0x${++subscriptions}`
      for (const listener of own) if (listeners.get(listener) === undefined) listeners.set(listener, id)
      return { ok: true, result: id }
    }
    if (method === 'eth_unsubscribe') return { ok: true, result: true }
    const [selector] = params
    return { ok: true, result: raw(selector === 'latest' ? blocks.length - 1 : Number(selector)) }
  }

  /** A connection of its own. */
  function connect(url: string): Connection {
    const own = new Set<NotificationListener>()
    let isOpen = true
    const notifications: Notifications = {
      url,
      listen(listener) {
        own.add(listener)
        listeners.set(listener, undefined)
        return () => {
          own.delete(listener)
          listeners.delete(listener)
        }
      },
    }
    return {
      port: {
        name: 'chain',
        kind: 'webSocket',
        stats: { requests: 0, calls: 0 },
        notifications: announces ? notifications : undefined,
        batch: (all) => (isOpen ? batch(all, own) : Promise.resolve(all.map(() => CLOSED))),
        close() {},
      },
      disconnect() {
        isOpen = false
        for (const listener of [...own]) listener.closed()
      },
      deafen() {
        for (const listener of own) listeners.delete(listener)
      },
    }
  }

  async function batch(all: readonly RpcCall[], own: Own): Promise<readonly RpcReply[]> {
    const pause = () => new Promise<void>((resolve) => clock.setTimer(resolve, TRIP_MS))
    for (const { method } of all) calls.push({ method, atMs: clock.now() })
    await pause()
    const isLost = !switches.answers || (fails && ++requests % 5 === 0)
    const failure = { kind: 'timeout', message: 'no answer' } as const
    const replies = all.map((call) => (isLost ? { ok: false as const, failure } : answer(call, own)))
    await pause()
    return replies
  }

  return {
    connect,
    blocks,
    switches,
    wire,
    announce,
    /** Makes a block now. */
    make(): void {
      const number = grow()
      if (switches.announces) wire.announce(number, notify)
    },
    /** Replaces the newest blocks by as many and one more, and announces the last. */
    reorganise(depth: number): void {
      blocks.splice(blocks.length - depth)
      for (let step = 0; step <= depth; step++) grow()
      notify(blocks.length - 1)
    },
    /** All connections are closed, with their subscriptions, and are made again. */
    drop(): void {
      for (const listener of [...listeners.keys()]) listener.closed()
    },
    subscribed: () => [...listeners.values()].filter((id) => id !== undefined).length,
    /** The calls of a method in the last `ms`. */
    called: (method: string, ms: number): number =>
      calls.filter((call) => call.method === method && call.atMs >= clock.now() - ms).length,
  }
}

/**
 * A tracker in virtual time, on a chain that makes a block every 200 ms. `announces`: the endpoint takes
 * `eth_subscribe`; the announcement leaves with the block.
 */
export function openChain(faults: Faults) {
  const clock = createVirtualClock()
  const node = createNode(clock, faults)
  const { switches, blocks } = node
  const headSubscriptions = new Map<string, unknown>()

  /** A client with a tracker of its own. */
  function openClient(url = URL_OF_NODE) {
    const { port, ...connection } = node.connect(url)
    const seen = new Map<string, number>()
    const left: string[] = []
    const tracker = createTracker({
      clock,
      port: () => port,
      headSubscriptions,
      cadenceMs: () => 200,
      pending: () => ({ block: false, count: false, paced: false }),
      timeoutMs: 1_000,
      horizon: 64,
    })
    tracker.follow({
      ...IDLE_FOLLOWER,
      address: '0x00000000000000000000000000000000000000aa',
      pace: () => switches.pace,
      left: ({ hash }) => void left.push(hash),
      sealed: async ({ hash }) => void seen.set(hash, clock.now()),
      broken(error) {
        throw error
      },
    })
    tracker.plan()
    return {
      tracker,
      left,
      ...connection,
      /** The delays of the canonical blocks of the last `ms`, except those that may not be known yet. */
      delaysMs(ms: number): number[] {
        const untilMs = clock.now() - (faults.fails ? 5 * PERIOD_MS : PERIOD_MS / 2)
        return blocks
          .filter(({ atMs }) => atMs >= clock.now() - ms && atMs <= untilMs)
          .map(({ hash, atMs }) => (seen.get(hash) ?? Number.POSITIVE_INFINITY) - atMs)
      },
    }
  }

  node.make()
  const first = openClient()
  // Polls at the cadence alone would come at the same moments otherwise, and look as if they knew the phase.
  let cancel = clock.setTimer(beat, PERIOD_MS * 1.45)
  function beat(): void {
    cancel = clock.setTimer(beat, PERIOD_MS)
    node.make()
  }

  return {
    ...node,
    ...first,
    clock,
    openClient,
    headSubscriptions,
    standStill: () => cancel(),
    close(): void {
      cancel()
      first.tracker.stop()
    },
  }
}

export function medianOf(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN
}
