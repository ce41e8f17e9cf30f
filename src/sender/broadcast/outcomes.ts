import type { Hash } from 'viem'
import type { OutcomeKind } from '../../ledger/event.js'
import type { SendOutcome } from '../../rpc/outcome.js'
import type { LaneContext } from '../context.js'
import type { Funds } from '../signing/funds.js'
import type { Transaction } from '../transaction/transaction.js'
import type { Resender } from './resend.js'

/** Turns what an endpoint said of one send into an event for its slot, and tells the lane what concerns it as a whole. */
export function createOutcomes(
  context: LaneContext,
  parts: {
    resender: Resender
    funds: Funds
    /** A pool speaks of delegated accounts. */
    delegated: () => void
    transactionOf: (nonce: number) => Transaction | undefined
    /** For who counts them. */
    seen?: ((outcome: SendOutcome) => void) | undefined
  },
) {
  const { lane } = context
  const { resender, funds } = parts
  // How long the endpoint asked to be left alone, until the slot has said whether it wants to be sent again.
  let retryAfterMs: number | undefined

  function noteLane(outcome: SendOutcome): void {
    const { book, window } = lane
    if (outcome.reason === 'insufficientFunds') funds.refused()
    if (outcome.reason === 'delegatedLimit') parts.delegated()
    if (outcome.reason === 'poolFull' || outcome.reason === 'delegatedLimit')
      window.loss(book.coveredTo, book.cursor)
  }

  return {
    take(nonce: number, hash: Hash, outcome: SendOutcome, words: string | undefined): void {
      parts.seen?.(outcome)
      // Kept for whoever is told of its end, or grows tired of waiting: the node's own words say why.
      const transaction = parts.transactionOf(nonce)
      if (transaction) transaction.refusal = outcome.outcome === 'accepted' ? undefined : words
      retryAfterMs = outcome.retryAfterMs
      if (outcome.outcome === 'refused') noteLane(outcome)
      if (outcome.outcome === 'accepted') {
        resender.forget(nonce)
        if (lane.holds.has('blocked')) lane.holds.lift('blocked')
      }
      lane.apply(nonce, { type: 'outcome', hash, outcome: kindOf(outcome), epoch: lane.lease.epoch })
    },
    /** Rows 13 and 18: the same bytes again, later. */
    later: (nonce: number) => resender.later(nonce, retryAfterMs),
  }
}

/** The words of section 5 in the words of section 4. */
function kindOf(outcome: SendOutcome): OutcomeKind {
  if (outcome.outcome !== 'refused') return outcome.outcome
  if (outcome.counted) return 'counted'
  switch (outcome.reason) {
    case 'nonceTooLow':
      return 'nonceTooLow'
    case 'replacementUnderpriced':
      return 'underpriced'
    case 'feeTooLow':
      return 'feeTooLow'
    default:
      return 'refused'
  }
}
