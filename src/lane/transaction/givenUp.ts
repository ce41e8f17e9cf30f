import { lastClaim, REFUSALS_MAX, type Slot } from '../../ledger/slot.js'
import type { Transaction } from './transaction.js'

/** The reason why the lane gave a nonce up (row 20). Only the process that did it knows the reason. */
export type GivenUp = 'refused' | 'bumpsSpent' | 'feeCeiling'

/** Row 20 voids a slot that still wants its claim. This stores the cause before the claim ends. */
export function noteGivenUp(
  {
    transactions,
    fees,
  }: {
    readonly transactions: ReadonlyMap<string, Transaction>
    readonly fees: { readonly bumpsMax: number }
  },
  before: Slot | undefined,
  after: Slot,
): void {
  if (before?.state !== 'live' || after.state !== 'live') return
  if (before.end !== undefined || after.end !== 'void') return
  const claim = lastClaim(after)
  const transaction = claim === undefined ? undefined : transactions.get(claim)
  if (transaction === undefined) return
  const bumps = after.attempts.filter((attempt) => attempt.claim === claim).length - 1
  transaction.givenUp =
    before.refusals >= REFUSALS_MAX ? 'refused' : bumps >= fees.bumpsMax ? 'bumpsSpent' : 'feeCeiling'
}

/** The sentence for the caller. The endpoint's message follows as the details of the error. */
export function sayGivenUp({ givenUp }: Transaction): string {
  switch (givenUp) {
    case 'refused':
      return `Every endpoint refused it ${REFUSALS_MAX} times, and no retry can change that. A no-op took its nonce.`
    case 'bumpsSpent':
      return 'It reached the maximum number of bumps (fees.bump.attemptsMax) and did not land. A no-op took its nonce.'
    case 'feeCeiling':
      return 'It reached its fee ceiling and did not land. A no-op took its nonce.'
    case undefined:
      return 'An earlier process gave its nonce up. A no-op took its place.'
    default:
      return givenUp satisfies never
  }
}
