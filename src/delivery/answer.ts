import type { SendOutcome } from '../rpc/outcome.js'

/**
 * What one endpoint's answer to one send means for delivery.
 *
 * - `taken`: the endpoint has a transaction at this nonce. It does not prove that the pool keeps it. `isKnown`: its pool
 *   had these bytes before, as it says itself.
 * - `occupied`: it has another one there, or knows the nonce as used, and does not take these bytes in its place.
 * - `gapped`: a negative acknowledgement. The endpoint lacks a lower nonce, `expected` where it names it.
 * - `full`: the pool, or this account's share of it, has no room for the nonce.
 * - `later`: not taken in, and the same bytes may be taken later. Nothing is known of the pool.
 * - `limited`: not taken in because of a rate limit. The request budget says when the next request may leave.
 * - `refused`: these bytes are not taken. The delivery waits until other bytes, or the same ones again, are offered.
 * - `unanswered`: the request may or may not have arrived.
 */
export type SendAnswer =
  | { readonly kind: 'taken'; readonly isKnown?: true }
  | { readonly kind: 'occupied' }
  | { readonly kind: 'full' }
  | { readonly kind: 'later' }
  | { readonly kind: 'limited' }
  | { readonly kind: 'refused' }
  | { readonly kind: 'unanswered' }
  | { readonly kind: 'gapped'; readonly expected: number | undefined; readonly nonceMax: number | undefined }

const TAKEN = { kind: 'taken' } as const
const KNOWN = { kind: 'taken', isKnown: true } as const
const OCCUPIED = { kind: 'occupied' } as const
const FULL = { kind: 'full' } as const
const LATER = { kind: 'later' } as const
const LIMITED = { kind: 'limited' } as const
const REFUSED = { kind: 'refused' } as const
const UNANSWERED = { kind: 'unanswered' } as const

/** The classifier's outcome, reduced to what delivery acts on. */
export function answerOf({ outcome, reason, expectedNonce, nonceMax }: SendOutcome): SendAnswer {
  if (outcome === 'accepted') return reason === 'alreadyKnown' ? KNOWN : TAKEN
  if (outcome === 'intrinsic') return REFUSED
  switch (reason) {
    case 'nonceTooLow':
    case 'replacementUnderpriced':
      return OCCUPIED
    case 'nonceTooHigh':
      return { kind: 'gapped', expected: expectedNonce, nonceMax }
    case 'poolFull':
    case 'delegatedLimit':
      return FULL
    case 'rateLimited':
      return LIMITED
    case 'notReady':
    case 'insufficientFunds':
      return LATER
    default:
      return outcome === 'unknown' ? UNANSWERED : REFUSED
  }
}
