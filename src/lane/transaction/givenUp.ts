import { REFUSALS_MAX, type Slot } from '../../ledger/slot.js'
import type { Transaction } from './transaction.js'

/** Why the lane gave a nonce up (row 20). Known to the process that did it. */
export type GivenUp = 'refused' | 'bumpsSpent' | 'feeCeiling'

/** Row 20 voids a slot that still wants its claim: notes the cause before the claim ends. */
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
  const claim = after.claims.at(-1)
  const transaction = claim === undefined ? undefined : transactions.get(claim)
  if (transaction === undefined) return
  const bumps = after.attempts.filter((attempt) => attempt.claim === claim).length - 1
  transaction.givenUp =
    before.refusals >= REFUSALS_MAX ? 'refused' : bumps >= fees.bumpsMax ? 'bumpsSpent' : 'feeCeiling'
}

/** The sentence for the caller; the endpoint's words follow it as the details of the error. */
export function sayGivenUp({ givenUp }: Transaction): string {
  switch (givenUp) {
    case 'refused':
      return `Every endpoint refused it ${REFUSALS_MAX} times, and no retry can mend that. A no-op took its nonce.`
    case 'bumpsSpent':
      return 'It was bumped as often as it may be (fees.bump.attemptsMax) and did not land. A no-op took its nonce.'
    case 'feeCeiling':
      return 'It stood at its fee ceiling and did not land. A no-op took its nonce.'
    case undefined:
      return 'An earlier process gave its nonce up. A no-op took its place.'
    default:
      return givenUp satisfies never
  }
}
