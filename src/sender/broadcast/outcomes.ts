import type { Hash } from 'viem'
import type { Beyond, OutcomeKind } from '../../ledger/event.js'
import { type Attempt, type Live, REFUSALS_MAX, type Slot } from '../../ledger/slot.js'
import type { SendOutcome } from '../../rpc/outcome.js'
import { block, type LaneContext } from '../context.js'
import { acceptedTo } from '../following/drops.js'
import { sayDear } from '../signing/dear.js'
import type { Funds } from '../signing/funds.js'
import type { Signing } from '../signing/signing.js'
import type { Transaction } from '../transaction/transaction.js'
import type { Reported } from './broadcast.js'
import type { Resender } from './resend.js'

/** Turns what an endpoint said of one send into an event for its slot, and tells the lane what concerns it as a whole. */
export function createOutcomes(
  context: LaneContext,
  parts: {
    resender: Resender
    funds: Funds
    signing: Pick<Signing, 'ceilings' | 'needed'>
    /** A pool speaks of delegated accounts. */
    delegated: () => void
    transactionOf: (nonce: number) => Transaction | undefined
    /** For who counts them. */
    seen?: ((outcome: SendOutcome) => void) | undefined
  },
) {
  const { lane, fees } = context
  const { resender, funds, signing } = parts
  // Of the outcome that the table is being told, and of no other: how long the endpoint asked to be left alone, or the
  // pace of a refusal that has one of its own.
  let pace: { readonly retryAfterMs: number | undefined; readonly againMs: number | undefined } | undefined

  /** How far above the account's nonce the node takes any, where it says so, or took all below this one. */
  function noteDistance(nonce: number, { expectedNonce, nonceMax }: SendOutcome): void {
    const { book, window } = lane
    if (nonceMax !== undefined && expectedNonce !== undefined) {
      if (nonceMax >= expectedNonce) window.takes(nonceMax - expectedNonce + 1)
    } else if (expectedNonce === undefined && acceptedTo(book, nonce) >= nonce)
      window.takes(nonce - book.floor)
  }

  function noteLane(nonce: number, outcome: SendOutcome): void {
    const { book, window } = lane
    if (outcome.reason === 'nonceTooHigh') noteDistance(nonce, outcome)
    if (outcome.reason === 'insufficientFunds') funds.refused()
    if (outcome.reason === 'delegatedLimit') parts.delegated()
    if (outcome.reason === 'poolFull' || outcome.reason === 'delegatedLimit')
      window.loss(book.coveredTo, book.cursor)
  }

  /** What a node teaches about its prices serves every nonce: it is known before the slot asks for a bump. */
  function notePrices(nonce: number, attempt: Attempt, { outcome, reason, needs }: SendOutcome): void {
    if (outcome === 'accepted' && reason !== 'alreadyKnown') fees.taken(attempt.fees)
    if (outcome !== 'refused') return
    if (reason === 'feeTooLow') fees.refused(attempt.fees, needs, isOfferedToAll(attempt))
    if (reason === 'replacementUnderpriced' && needs) signing.needed(nonce, needs)
  }

  /** What no bump within the ceiling cures: nothing is reserved above it where no no-op gets in either. */
  function beyond(slot: Live, attempt: Attempt): Beyond | undefined {
    const transaction = parts.transactionOf(slot.nonce)
    const { dear, fillable } = signing.ceilings(slot)
    if (dear === undefined || transaction?.outside) return undefined
    if (transaction) transaction.dear = dear
    const head = slot.nonce === lane.book.floor
    const isTaken = slot.attempts.some(({ accepted }) => accepted)
    if (head && !fillable && !isTaken && isOfferedToAll(attempt)) block(context, slot.nonce, sayDear(dear))
    return { head, fillable, signer: context.signer !== undefined, token: lane.token() }
  }

  /** What is said of a no-op, or of what the transaction replaces, is no word on the transaction. */
  function isOfClaim(nonce: number, hash: Hash, claim: string): boolean {
    return lane.book.get(nonce)?.attempts.find((own) => own.hash === hash)?.claim === claim
  }

  return {
    take(nonce: number, hash: Hash, outcome: SendOutcome, { words, againMs }: Reported): void {
      parts.seen?.(outcome)
      // Kept for whoever is told of its end, or grows tired of waiting: the node's own words say why.
      const transaction = parts.transactionOf(nonce)
      if (transaction && isOfClaim(nonce, hash, transaction.id))
        transaction.refusal = outcome.outcome === 'accepted' ? undefined : words
      if (outcome.outcome === 'refused') noteLane(nonce, outcome)
      if (outcome.outcome === 'accepted') {
        resender.taken(nonce)
        if (lane.holds.has('blocked')) lane.holds.lift('blocked')
      }
      const slot = lane.book.get(nonce)
      const attempt = slot?.attempts.find((known) => known.hash === hash)
      if (attempt) notePrices(nonce, attempt, outcome)
      const kind = kindOf(outcome)
      const isCheap = kind === 'feeTooLow' && slot?.state === 'live' && attempt !== undefined
      const { restMsMax } = context.limits
      pace = {
        retryAfterMs: outcome.retryAfterMs && Math.min(outcome.retryAfterMs, restMsMax),
        againMs: againMs && spaced(againMs, slot),
      }
      try {
        lane.apply(nonce, {
          type: 'outcome',
          hash,
          outcome: kind,
          epoch: lane.lease.epoch,
          stated: outcome.needs !== undefined,
          beyond: isCheap ? beyond(slot, attempt) : undefined,
        })
      } finally {
        pace = undefined
      }
    },
    /** The same bytes again: later, where an outcome asks for it (rows 13 and 18), or now that they stand still. */
    later(nonce: number): void {
      if (pace === undefined) resender.soon(nonce)
      else if (pace.againMs === undefined) resender.later(nonce, pace.retryAfterMs)
      else resender.after(nonce, pace.againMs)
    },
  }
}

const REFUSED_PAUSE_MS_MAX = 60_000

/**
 * Refused for good and not given up: it stands above others, or there is no signer for a no-op. The node may come to take
 * it, and is asked with pauses that double.
 */
function spaced(againMs: number, slot: Slot | undefined): number {
  const refusals = slot?.state === 'live' ? slot.refusals : 0
  return Math.min(REFUSED_PAUSE_MS_MAX, againMs * 2 ** Math.max(0, refusals + 1 - REFUSALS_MAX))
}

/** A second send goes to every endpoint that takes sends. */
const isOfferedToAll = ({ sends }: Attempt): boolean => sends >= 2

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
