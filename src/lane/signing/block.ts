import type { Lane } from '../../allocator/lane.js'

/**
 * Holds the lane, because the no-op for a nonce cannot be paid for, or cannot outbid the transaction at that
 * nonce within the ceiling of the lane. No higher nonce is reserved. The lane tries again when the nonce is
 * stuck the next time.
 */
export function block(
  context: { readonly lane: Lane; blockedAt: number },
  nonce: number,
  detail?: string,
): void {
  context.blockedAt = Math.max(context.blockedAt, nonce)
  context.lane.holds.add('blocked', detail)
}
