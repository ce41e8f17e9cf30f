import type { Hash, LocalAccount } from 'viem'
import type { Lane } from '../../allocator/lane.js'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import type { Beyond, OutcomeKind } from '../../ledger/event.js'
import { type Attempt, type Live, newestAttempt, REFUSALS_MAX, type Slot } from '../../ledger/slot.js'
import type { CancelTimer, Clock } from '../../platform/clock.js'
import type { SendOutcome } from '../../rpc/outcome.js'
import { isOutsideId } from '../../validate/stageOrder.js'
import { block } from '../signing/block.js'
import type { FeeOracle } from '../signing/feeOracle.js'
import type { Funds } from '../signing/funds.js'
import type { Signing } from '../signing/signing.js'
import { describeAboveCeiling } from '../transaction/dear.js'
import { drop, type Transaction } from '../transaction/transaction.js'
import type { Broadcaster, Reported } from './broadcast.js'

type SendResultsContext = {
  readonly lane: Lane
  readonly endpointPool: EndpointPool
  readonly clock: Clock
  readonly fees: FeeOracle
  signer: LocalAccount | undefined
  blockedAt: number
}

export type SendResultsParts = {
  readonly broadcaster: () => Pick<Broadcaster, 'again' | 'elsewhere'>
  readonly funds: Funds
  readonly signing: Pick<Signing, 'ceilings' | 'needed'>
  /** A pool speaks of delegated accounts. */
  readonly delegated: () => void
  readonly transactionOf: (nonce: number) => Transaction | undefined
  /** The newest `latest` count, as far as bodies do not contradict it: what used the nonces below it is looked for. */
  readonly latestCount: () => number
  /** For who counts them. */
  readonly seen?: ((outcome: SendOutcome) => void) | undefined
}

/** Turns what an endpoint said of one send into an event for its slot, and tells the lane what concerns it as a whole. */
export function createSendResults(context: SendResultsContext, parts: SendResultsParts) {
  const { lane, fees } = context
  const { funds, signing } = parts
  // Of the outcome that the table is being told, and of no other: when bytes that are not taken are offered again.
  let pace: { readonly againMs: number | undefined } | undefined
  const offers = new Map<number, CancelTimer>()

  function noteLane({ reason }: SendOutcome): void {
    if (reason === 'insufficientFunds') funds.refused()
    if (reason === 'delegatedLimit') parts.delegated()
  }

  /** Blocks that are not walked yet, or the evidence for a count that covers the nonce, may show that the bytes landed. */
  const mayHaveLanded = (nonce: number): boolean =>
    context.endpointPool.tracker.isBehind || nonce < parts.latestCount()

  /**
   * The node may come to take the bytes. Further refusals by the same endpoint do not put this off. Bytes that may have
   * landed are held back, for `LANDED_WAITS_MAX` looks.
   */
  function offerAfter(nonce: number, afterMs: number, waits = 0): void {
    if (offers.has(nonce)) return
    const offer = () => {
      offers.delete(nonce)
      if (mayHaveLanded(nonce) && waits < LANDED_WAITS_MAX)
        return offerAfter(nonce, LANDED_WAIT_MS, waits + 1)
      const slot = lane.book.get(nonce)
      if (slot && newestAttempt(slot)?.accepted !== true) parts.broadcaster().again(nonce)
    }
    offers.set(nonce, context.clock.setTimer(offer, afterMs))
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
    const { aboveCeiling, fillable } = signing.ceilings(slot)
    if (aboveCeiling === undefined || (transaction && isOutsideId(transaction.id))) return undefined
    if (transaction) transaction.aboveCeiling = aboveCeiling
    const head = slot.nonce === lane.book.floor
    const isTaken = slot.attempts.some(({ accepted }) => accepted)
    if (head && !fillable && !isTaken && isOfferedToAll(attempt))
      block(context, slot.nonce, describeAboveCeiling(aboveCeiling))
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
      if (transaction && isOfClaim(nonce, hash, transaction.id)) {
        if (outcome.outcome === 'accepted') drop(transaction, 'refusal')
        else transaction.refusal = words
      }
      if (outcome.outcome === 'refused') noteLane(outcome)
      if (outcome.outcome === 'accepted' && lane.holds.has('blocked')) lane.holds.lift('blocked')
      const slot = lane.book.get(nonce)
      const attempt = slot?.attempts.find((known) => known.hash === hash)
      if (attempt) notePrices(nonce, attempt, outcome)
      const kind = kindOf(outcome)
      const isCheap = kind === 'feeTooLow' && slot?.state === 'live' && attempt !== undefined
      pace = { againMs: againMs && spaced(againMs, slot) }
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
    /**
     * The same bytes again. Where an outcome asks for it (rows 13 and 18) the delivery sends them again by itself, unless
     * the endpoint does not take them; the other endpoints get them, too. Where they stand still every endpoint does.
     */
    later(nonce: number): void {
      // What is offered again at its own pace waits for that.
      if (pace === undefined) return offers.has(nonce) ? undefined : parts.broadcaster().again(nonce)
      parts.broadcaster().elsewhere(nonce)
      if (pace.againMs !== undefined) offerAfter(nonce, pace.againMs)
    },
  }
}

const REFUSED_PAUSE_MS_MAX = 15_000
/** Between two looks at whether bytes may have landed. */
const LANDED_WAIT_MS = 1_000
/** A head that never joins, as one that is made up, or a count without evidence holds nothing back for longer. */
const LANDED_WAITS_MAX = 30

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
