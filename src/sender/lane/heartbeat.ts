import type { CancelTimer, Clock, Random } from '../../clock.js'
import { type Lease, laneName, type Store } from '../../store/store.js'
import type { Environment } from '../environment.js'

/** Keeps the leases of one process alive, all of them with one call. */
export type Heartbeat = {
  readonly holder: string
  readonly ttlMs: number
  /** From now on the lease is renewed, until it is let go of. `lost` is called, once, when another has taken it. */
  hold(lease: Lease, lost: () => void): () => void
  /** Within its time: nobody else can have taken it. A process that was stopped finds it run out when it goes on. */
  isFresh(lease: Lease): boolean
}

type Held = { readonly lease: Lease; readonly lost: () => void; keptAtMs: number }

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
    const askedAtMs = clock.now()
    // A store that does not answer says nothing of who has the lane: every write is fenced, so it can wait.
    const kept = await store.renew(holder, ttlMs).catch(() => undefined)
    beating = false
    if (kept !== undefined) {
      const epochs = new Map(kept.map(({ lane, epoch }) => [laneName(lane), epoch]))
      for (const one of asked) {
        if (epochs.get(laneName(one.lease.lane)) === one.lease.epoch) one.keptAtMs = askedAtMs
        else lose(one)
      }
    }
    plan()
  }

  function lose(one: Held): void {
    const name = laneName(one.lease.lane)
    if (held.get(name) !== one) return
    held.delete(name)
    one.lost()
  }

  return {
    holder,
    ttlMs,
    isFresh(lease) {
      const one = held.get(laneName(lease.lane))
      return one?.lease === lease && clock.now() - one.keptAtMs <= ttlMs
    },
    hold(lease, lost) {
      const name = laneName(lease.lane)
      const mine: Held = { lease, lost, keptAtMs: clock.now() }
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
  const known = shared.heartbeats.get(store)
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
