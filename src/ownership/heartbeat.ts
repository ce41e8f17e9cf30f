import type { Environment } from '../chain/environment.js'
import {
  type CancelTimer,
  type Clock,
  isWithin,
  type Moment,
  momentOf,
  type Random,
} from '../platform/clock.js'
import { type Lease, laneName, type Store } from '../types/store.js'

/** Renews all leases of one process with one call. */
export type Heartbeat = {
  readonly holder: string
  readonly ttlMs: number
  /** Renews the lease from now on. The returned function ends that. */
  hold(lease: Lease, listener: LeaseListener): () => void
  /**
   * True while the lease has not expired by the steady clock and by the wall clock, so that no other process can have taken
   * it. It is false after the process was suspended or the machine slept, and after a step of the wall clock, which may time
   * the lease, until the next heartbeat is answered.
   */
  isFresh(lease: Lease): boolean
}

export type LeaseListener = {
  /** Called once when another process has taken the lease. */
  lost(): void
  /** A heartbeat was answered: the store has the lease. */
  renewed?(): void
  /** A heartbeat failed. The owner of the lease is unknown then, but every write is fenced. */
  failed?(error: unknown): void
}

type Held = { readonly lease: Lease; readonly listener: LeaseListener; renewedAt: Moment }

// Two heartbeats may fail before the lease expires.
const BEATS_A_LEASE = 3

export function createHeartbeat(options: {
  readonly store: Pick<Store, 'renew'>
  readonly holder: string
  readonly ttlMs: number
  readonly clock: Clock
}): Heartbeat {
  const { store, holder, ttlMs, clock } = options
  const held = new Map<string, Held>()
  let next: CancelTimer | undefined
  let beating = false

  /** A running heartbeat plans the next one. A second chain of heartbeats would never end. */
  function plan(): void {
    if (held.size > 0 && !beating) next ??= clock.setTimer(() => void beat(), ttlMs / BEATS_A_LEASE)
  }

  async function beat(): Promise<void> {
    next = undefined
    beating = true
    const asked = [...held.values()]
    const askedAt = momentOf(clock)
    const heard = await store.renew(holder, ttlMs).then(
      (leases) => () => answered(asked, askedAt, leases),
      (error: unknown) => () => failed(asked, error),
    )
    beating = false
    heard()
    plan()
  }

  function failed(asked: readonly Held[], error: unknown): void {
    for (const one of asked) if (isHeld(one)) one.listener.failed?.(error)
  }

  function answered(asked: readonly Held[], askedAt: Moment, leases: readonly Lease[]): void {
    const epochs = new Map(leases.map(({ lane, epoch }) => [laneName(lane), epoch]))
    for (const one of asked) {
      if (epochs.get(laneName(one.lease.lane)) !== one.lease.epoch) lose(one)
      else if (isHeld(one)) renew(one, askedAt)
    }
  }

  function renew(one: Held, askedAt: Moment): void {
    one.renewedAt = askedAt
    one.listener.renewed?.()
  }

  const isHeld = (one: Held) => held.get(laneName(one.lease.lane)) === one

  function lose(one: Held): void {
    if (!isHeld(one)) return
    held.delete(laneName(one.lease.lane))
    one.listener.lost()
  }

  return {
    holder,
    ttlMs,
    isFresh(lease) {
      const one = held.get(laneName(lease.lane))
      return one?.lease === lease && isWithin(clock, one.renewedAt, ttlMs)
    },
    hold(lease, listener) {
      const name = laneName(lease.lane)
      const mine: Held = { lease, listener, renewedAt: momentOf(clock) }
      held.set(name, mine)
      plan()
      return () => {
        if (held.get(name) === mine) held.delete(name)
        if (held.size > 0) return
        next?.()
        next = undefined
      }
    },
  }
}

/** The length of a lease: a lane stays taken for so long after the last heartbeat of its process. */
const LEASE_MS = 10_000

/** The heartbeat of this process for a store. */
export function heartbeatOf({ shared, clock, background, random }: Environment, store: Store): Heartbeat {
  const known = shared.heartbeats.get(store) as Heartbeat | undefined
  if (known !== undefined) return known
  const heartbeat = createHeartbeat({
    store,
    clock: background ?? clock,
    holder: holderId(random),
    ttlMs: LEASE_MS,
  })
  shared.heartbeats.set(store, heartbeat)
  return heartbeat
}

function holderId(random: Random): string {
  return Array.from({ length: 4 }, () => Math.floor(random() * 2 ** 32).toString(16)).join('')
}
