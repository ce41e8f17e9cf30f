/**
 * A lease that ends more than this many times its own length ahead has run out. Its holder took it by a clock that has
 * been set back since, or by the clock of another machine, and would keep the lane from everybody until that time comes.
 * Twice, so that a small step back does not take the lane from a holder that is at work. Where a live holder loses the
 * lane that way, the fence refuses its writes (P7), as in every change of hands.
 */
export const LEASES_AHEAD_MAX = 2

/** Whether another holder may take a lane, by the clock that all its holders share. */
function hasRunOut(lease: { readonly untilMs: number; readonly leaseMs: number }, nowMs: number): boolean {
  return lease.untilMs <= nowMs || lease.untilMs > nowMs + LEASES_AHEAD_MAX * lease.leaseMs
}

/** Who has a lease, and for how long: of a lane, or of an outbox. */
export type LeaseState = { epoch: number; holder: string | undefined; untilMs: number; leaseMs: number }

export function isHeld(lease: LeaseState, nowMs: number): boolean {
  return lease.holder !== undefined && !hasRunOut(lease, nowMs)
}

/** Takes it with a new epoch, or again with the same one where `holder` has it. False while another one has it. */
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
