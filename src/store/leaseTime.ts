/**
 * A lease that ends more than this many times its own length in the future counts as expired. Its owner took
 * it by a clock that was set back since, or by the clock of another machine, and would otherwise block every
 * other process until that time. The factor is two, so that a small step back does not take the lane from a
 * working owner. If a live owner loses the lane this way, the fence refuses its writes (P7), as after every
 * change of owner.
 */
export const LEASES_AHEAD_MAX = 2

/** True if another process may take the lease, by the clock that all processes share. */
function hasRunOut(lease: { readonly untilMs: number; readonly leaseMs: number }, nowMs: number): boolean {
  return lease.untilMs <= nowMs || lease.untilMs > nowMs + LEASES_AHEAD_MAX * lease.leaseMs
}

/** The owner of a lease of a lane or an outbox, and its end. */
export type LeaseState = { epoch: number; holder: string | undefined; untilMs: number; leaseMs: number }

export function isHeld(lease: LeaseState, nowMs: number): boolean {
  return lease.holder !== undefined && !hasRunOut(lease, nowMs)
}

/** True if the lease is still the one that was taken with this epoch. */
export function isOwner(lease: LeaseState, taken: Pick<LeaseState, 'epoch' | 'holder'>): boolean {
  return lease.epoch === taken.epoch && lease.holder === taken.holder
}

/**
 * Takes the lease with a new epoch, or again with the same one if `holder` owns it. Returns false while
 * another process owns it.
 */
export function takeLease(lease: LeaseState, holder: string, ttlMs: number, nowMs: number): boolean {
  if (lease.holder !== holder) {
    if (isHeld(lease, nowMs)) return false
    lease.epoch++
    lease.holder = holder
  }
  lease.untilMs = nowMs + ttlMs
  lease.leaseMs = ttlMs
  return true
}
