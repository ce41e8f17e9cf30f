import type { SendOutcome } from '../rpc/outcome.js'

/**
 * The meaning of one endpoint's answer to one send, for delivery.
 *
 * - `taken`: the endpoint has a transaction at this nonce. The answer does not prove that the pool keeps
 *   it. `isKnown`: the endpoint reports that its pool already had these bytes.
 * - `occupied`: the endpoint has another transaction at this nonce, or counts the nonce as used, and does
 *   not replace it with these bytes.
 * - `gapped`: a negative acknowledgement. The endpoint lacks a lower nonce, which is `expected` if the
 *   endpoint names it.
 * - `full`: the pool, or this account's share of it, has no room for the nonce.
 * - `later`: not accepted now, but the same bytes may be accepted later. The answer gives no information
 *   about the pool.
 * - `limited`: not accepted because of a rate limit. The request budget decides when the next request may
 *   leave.
 * - `refused`: the endpoint does not accept these bytes. The delivery waits until other bytes, or the same
 *   bytes again, are offered.
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

/** Reduces the classifier's outcome to the cases that delivery distinguishes. */
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
