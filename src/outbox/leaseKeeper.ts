import type { CancelTimer, Clock } from '../platform/clock.js'
import type { OutboxLease } from '../types/outbox.js'
import type { Store } from '../types/store.js'

export const LEASE_MS = 10_000
export const RENEW_MS = 3_000

/**
 * Renews the lease of an outbox until the returned function is called. `lost` is called when another process
 * owns the lease or may own it: if the lease expires while the store does not answer.
 */
export function keepLease(parts: {
  readonly store: Pick<Store, 'takeOutbox'>
  readonly lease: OutboxLease
  /** The time on `clock` at which the lease was requested. */
  readonly takenMs: number
  readonly clock: Pick<Clock, 'now'>
  /** A clock for timers that do not keep the process alive. */
  readonly background: Pick<Clock, 'setTimer'>
  readonly lost: () => void
  /** Called with each error of the store. */
  readonly noted: (error: unknown) => void
}): () => void {
  const { store, lease, clock, background, lost, noted } = parts
  let ownedUntilMs = parts.takenMs + LEASE_MS
  let expiry: CancelTimer | undefined
  let renewing: CancelTimer | undefined
  let stopped = false

  function watchExpiry(): void {
    expiry?.()
    expiry = background.setTimer(lost, Math.max(0, ownedUntilMs - clock.now()))
  }

  function renewLater(): void {
    renewing = background.setTimer(() => void renew(), RENEW_MS)
  }

  async function renew(): Promise<void> {
    const askedMs = clock.now()
    try {
      const again = await store.takeOutbox(lease.name, lease.holder, LEASE_MS)
      if (stopped) return
      if (again?.epoch !== lease.epoch) return lost()
      ownedUntilMs = askedMs + LEASE_MS
      watchExpiry()
    } catch (error) {
      noted(error)
    }
    if (!stopped) renewLater()
  }

  watchExpiry()
  renewLater()
  return () => {
    stopped = true
    expiry?.()
    renewing?.()
  }
}
