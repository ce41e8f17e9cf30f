import type { NotificationListener, Port } from '../../rpc/port.js'

/** A user of a subscription to heads: its connection, and its callbacks. */
export type HeadUser = {
  readonly port: Port
  readonly timeoutMs: number
  /** A head was announced. `result`: the contents of the announcement, not checked. */
  heard(result: unknown): void
  /** Another connection carries the subscription: announcements may be missing until it is live. */
  moved(): void
  /** The user has left: its connection failed or is silent, or the endpoint announces nothing (`isRefused`). */
  lost(isRefused: boolean): void
}

export type HeadSubscription = {
  readonly port: Port
  /** The endpoint has accepted it. */
  readonly isLive: boolean
  /** Heads come, and are not announced. */
  silent(): void
  /** The user leaves. Resolves once nothing is left to send over its connection. */
  end(): Promise<void>
}

/**
 * Joins the subscription to the heads of the port's URL, which all its users in this process share. The
 * connection of one user carries it; when that user leaves, the connection of the next one does.
 */
export function joinHeads(subscriptions: Map<string, unknown>, user: HeadUser): HeadSubscription {
  const url = user.port.notifications?.url
  // Before its first connection nothing shows which endpoint a port has.
  if (url === undefined) return createShared(() => {}).join(user)
  const known = subscriptions.get(url) as Shared | undefined
  const shared = known ?? createShared(() => void subscriptions.delete(url))
  subscriptions.set(url, shared)
  return shared.join(user)
}

type Shared = { join(user: HeadUser): HeadSubscription }

function createShared(unused: () => void): Shared {
  const users = new Set<HeadUser>()
  let carrier: HeadUser | undefined
  let current: Subscription | undefined

  function carry(user: HeadUser | undefined): void {
    carrier = user
    current = user && subscribe(user.port, user.timeoutMs, { heard, lost })
  }

  /** The connection of the next user carries the subscription. */
  function move(): void {
    carry([...users][0])
    if (carrier === undefined) unused()
    for (const user of users) user.moved()
  }

  function heard(result: unknown): void {
    for (const user of [...users]) user.heard(result)
  }

  function lost(isRefused: boolean): void {
    // An endpoint refuses all of its users.
    const left = isRefused ? [...users] : [...users].filter((user) => user === carrier)
    for (const user of left) users.delete(user)
    move()
    for (const user of left) user.lost(isRefused)
  }

  async function leave(user: HeadUser): Promise<void> {
    if (!users.delete(user) || user !== carrier) return
    const former = current
    move()
    await former?.end()
  }

  return {
    join(user) {
      users.add(user)
      if (carrier === undefined) carry(user)
      return {
        port: user.port,
        get isLive() {
          return users.has(user) && current?.isLive === true
        },
        silent() {
          void current?.end()
          lost(false)
        },
        end: () => leave(user),
      }
    },
  }
}

/** A subscription over one connection. */
type Subscription = { readonly isLive: boolean; end(): Promise<void> }

const LEAVE_MS = 1_000
/** Announcements that arrive before the answer to `eth_subscribe`, which has their id. */
const EARLY_MAX = 8

/** Subscribes to the heads of an endpoint. `lost` is called at most once, in a later turn, and not after `end`. */
function subscribe(
  port: Port,
  timeoutMs: number,
  on: { heard(result: unknown): void; lost(isRefused: boolean): void },
): Subscription {
  let id: string | undefined
  let ended = false
  let early: (readonly [string, unknown])[] = []
  const listener: NotificationListener = {
    notified(subscription, result) {
      if (subscription === id) on.heard(result)
      else if (id === undefined) early = [...early, [subscription, result] as const].slice(-EARLY_MAX)
    },
    closed: () => lost(),
  }
  const off = port.notifications?.listen(listener)
  void open()

  async function open(): Promise<void> {
    const [reply] = await port.batch([{ method: 'eth_subscribe', params: ['newHeads'] }], {
      priority: 'poll',
      timeoutMs,
    })
    const given = reply?.ok && typeof reply.result === 'string' ? reply.result : undefined
    if (given === undefined) return lost(reply?.ok === false && reply.failure.kind === 'rpc')
    if (ended) return leave(given)
    id = given
    for (const [subscription, result] of early) listener.notified(subscription, result)
    early = []
  }

  async function leave(subscription: string): Promise<void> {
    const call = { method: 'eth_unsubscribe', params: [subscription] }
    await port.batch([call], { priority: 'poll', timeoutMs: LEAVE_MS })
  }

  function lost(isRefused = false): void {
    if (ended) return
    // Without a connection there is no subscription to end.
    id = undefined
    void end()
    on.lost(isRefused)
  }

  async function end(): Promise<void> {
    if (ended) return
    ended = true
    off?.()
    if (id !== undefined) await leave(id)
  }

  return {
    get isLive() {
      return id !== undefined && !ended
    },
    end,
  }
}
