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

/** Keeps the leases of one process alive, all of them with one call. */
export type Heartbeat = {
  readonly holder: string
  readonly ttlMs: number
  /** From now on the lease is renewed, until it is let go of. */
  hold(lease: Lease, listener: LeaseListener): () => void
  /**
   * Within its time, by the steady clock and by the wall clock: no other process can have taken it. A process that was
   * stopped, and a machine that slept, find it run out when they go on; so does one whose wall clock stepped, which may be
   * the one that times the lease, until the next heartbeat is answered.
   */
  isFresh(lease: Lease): boolean
}

export type LeaseListener = {
  /** Called once, when another process has taken the lease. */
  lost(): void
  /** A heartbeat was answered: the store has the lease. */
  kept?(): void
  /** A heartbeat failed. That says nothing about who has the lease, and every write is fenced. */
  failed?(error: unknown): void
}

type Held = { readonly lease: Lease; readonly listener: LeaseListener; keptAt: Moment }

// Two beats may be missed before the time has run out.
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

  /** The beat that is under way plans the next one: two would go on beside each other for ever. */
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
      else if (isHeld(one)) keep(one, askedAt)
    }
  }

  function keep(one: Held, askedAt: Moment): void {
    one.keptAt = askedAt
    one.listener.kept?.()
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
      return one?.lease === lease && isWithin(clock, one.keptAt, ttlMs)
    },
    hold(lease, listener) {
      const name = laneName(lease.lane)
      const mine: Held = { lease, listener, keptAt: momentOf(clock) }
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

/** How long a lane stays taken after its process was heard of last. */
const LEASE_MS = 10_000

/** The one of this process for a store. */
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
