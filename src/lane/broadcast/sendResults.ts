import type { Hash, LocalAccount } from 'viem'
import type { Lane } from '../../allocator/lane.js'
import { createApart, type Moment } from '../../chain/endpoints/apart.js'
import type { EndpointPool, PoolEndpoint } from '../../chain/endpoints/endpointPool.js'
import type { SendAnswer } from '../../delivery/settle.js'
import type { Beyond, OutcomeKind } from '../../ledger/event.js'
import { NonceMap } from '../../ledger/nonceMap.js'
import { type Attempt, type Live, newestAttempt, REFUSALS_MAX, type Slot } from '../../ledger/slot.js'
import type { CancelTimer, Clock } from '../../platform/clock.js'
import type { SendOutcome } from '../../rpc/outcome.js'
import type { RpcReply } from '../../rpc/port.js'
import { isOutsideId } from '../../validate/stageOrder.js'
import type { FeeOracle } from '../signing/feeOracle.js'
import type { Funds } from '../signing/funds.js'
import { block } from '../signing/orders.js'
import type { Signing } from '../signing/signing.js'
import { note } from '../transaction/changes.js'
import type { Transaction } from '../transaction/transaction.js'
import { describeAboveCeiling } from '../transaction/txError.js'
import type { Broadcaster } from './broadcast.js'
import type { Said } from './endpointSender.js'

/** Details that accompany an outcome. */
type Reported = {
  /** The endpoint's name and its message, if it answered with anything but the hash. */
  readonly words: string | undefined
  /** If the endpoint does not accept the bytes: the delay until they are offered again, in milliseconds. */
  readonly againMs?: number | undefined
}

type SendReportParts = {
  readonly sent: (nonce: number) => void
  readonly outcome: (nonce: number, hash: Hash, outcome: SendOutcome, details: Reported) => void
}

/** Reports the result of a send to the lane, with refusals spaced by `createRefusals`. */
export function createSendReport(
  context: RefusalsContext,
  { sent, outcome: report }: SendReportParts,
): (said: Said) => void {
  const refusals = createRefusals(context)
  return ({ endpoint, nonce, attempt, outcome, answer, reply }) => {
    if (beginsAnew(attempt, outcome, reply)) sent(nonce)
    const paced = refusals.paced({ nonce, attempt, outcome, answer })
    report(nonce, attempt.hash, paced.outcome, {
      words: wordsOf(endpoint, reply),
      againMs: paced.againMs,
    })
  }
}

/**
 * Whether the wait for inclusion starts over: the bytes reached no endpoint, were not accepted yet, or have
 * just been accepted. A refusal that waiting does not cure, and an unknown error message, let the time run
 * on. Otherwise bytes that are refused in every block would never be bumped, given up or reported as stuck.
 */
function beginsAnew(attempt: Attempt, said: SendOutcome, reply: RpcReply | undefined): boolean {
  const { outcome, reason, counted } = said
  if (outcome === 'accepted') return !attempt.accepted
  if (outcome === 'refused') return !counted && reason !== 'replacementUnderpriced'
  return outcome === 'unknown' && (reply === undefined || (!reply.ok && !SPOKEN.has(reply.failure.kind)))
}

const SPOKEN: ReadonlySet<string> = new Set(['rpc', 'custom'])

function wordsOf({ port }: PoolEndpoint, reply: RpcReply | undefined): string | undefined {
  if (reply === undefined || reply.ok) return undefined
  const { failure } = reply
  return `${port.name} said: ${(failure.kind === 'http' ? failure.rpc?.message : undefined) ?? failure.message}`
}

type RefusalsContext = {
  readonly clock: Clock
  readonly endpointPool: Pick<EndpointPool, 'tracker'>
  readonly lane: Lane
}

type Refused = {
  readonly nonce: number
  readonly attempt: Attempt
  readonly outcome: SendOutcome
  readonly answer: SendAnswer
}

/** Bytes that were refused for a temporary reason may be accepted after this time. */
const SOON_MS = 100

/**
 * Spaces the refusals that count towards giving a nonce up (rows 15 and 20). A refusal in between says
 * nothing new, and the same bytes are offered again.
 */
function createRefusals(context: RefusalsContext) {
  const { lane } = context
  const apart = createApart(context)
  const last = new NonceMap<Moment>()

  function count(nonce: number): boolean {
    if (!apart.isNew(last.get(nonce))) return false
    forgetUsed()
    last.set(nonce, apart.now())
    return true
  }

  function forgetUsed(): void {
    for (const nonce of [...last.keys()]) if (nonce < lane.book.floor) last.delete(nonce)
  }

  return {
    /**
     * Returns the outcome as the table should see it now. `againMs`: the delay until the same bytes are
     * offered again, because the delivery does not re-send them by itself. It ends at the earliest when the
     * same refusal would count again.
     */
    paced({ nonce, attempt, outcome, answer }: Refused): { outcome: SendOutcome; againMs?: number } {
      if (!outcome.counted && outcome.outcome !== 'intrinsic') {
        if (answer.kind !== 'refused' && answer.kind !== 'occupied') return { outcome }
        const isFirst = answer.kind === 'refused' && attempt.sends === 0
        return { outcome, againMs: isFirst ? SOON_MS : apart.waitMs(apart.now()) }
      }
      const isNew = count(nonce)
      const againMs = apart.waitMs(last.get(nonce) ?? apart.now())
      return isNew
        ? { outcome, againMs }
        : { outcome: { ...outcome, outcome: 'refused', counted: false }, againMs }
    },
  }
}

type SendResultsContext = {
  readonly lane: Lane
  readonly endpointPool: Pick<EndpointPool, 'tracker'>
  readonly clock: Clock
  readonly fees: FeeOracle
  signer: LocalAccount | undefined
  blockedAt: number
}

export type SendResultsParts = {
  readonly broadcaster: () => Pick<Broadcaster, 'again' | 'elsewhere'>
  readonly funds: Funds
  readonly signing: Pick<Signing, 'ceilings' | 'needed'>
  /** The wait for the inclusion of this nonce starts over. */
  readonly sent: (nonce: number) => void
  /** A pool's message mentions delegated accounts. */
  readonly delegated: () => void
  readonly transactionOf: (nonce: number) => Transaction | undefined
  /**
   * The newest `latest` count, as far as bodies do not contradict it. The lane searches for the use of the
   * nonces below it.
   */
  readonly latestCount: () => number
  /** Observer for metrics. */
  readonly seen?: ((outcome: SendOutcome) => void) | undefined
}

/** Offers of refused bytes that are due after a delay. */
function createDelayedOffers(
  { lane, endpointPool, clock }: Pick<SendResultsContext, 'lane' | 'endpointPool' | 'clock'>,
  { broadcaster, latestCount }: Pick<SendResultsParts, 'broadcaster' | 'latestCount'>,
) {
  const offers = new Map<number, CancelTimer>()

  /**
   * Blocks that the walk has not reached yet, or the evidence for a count that covers the nonce, may show
   * that the bytes landed.
   */
  const mayHaveLanded = (nonce: number): boolean => endpointPool.tracker.isBehind || nonce < latestCount()

  /**
   * Offers the bytes again after a delay, because the node may accept them later. Further refusals by the
   * same endpoint do not extend the delay. Bytes that may have landed are held back, for at most
   * `LANDED_WAITS_MAX` checks.
   */
  function add(nonce: number, afterMs: number, waits = 0): void {
    if (offers.has(nonce)) return
    const offer = () => {
      offers.delete(nonce)
      if (mayHaveLanded(nonce) && waits < LANDED_WAITS_MAX) return add(nonce, LANDED_WAIT_MS, waits + 1)
      const slot = lane.book.get(nonce)
      if (slot && newestAttempt(slot)?.accepted !== true) broadcaster().again(nonce)
    }
    offers.set(nonce, clock.setTimer(offer, afterMs))
  }

  return { add, has: (nonce: number) => offers.has(nonce) }
}

/**
 * Converts an endpoint's reply to one send into an event for its slot, and applies the effects that concern
 * the whole lane.
 */
export function createSendResults(context: SendResultsContext, parts: SendResultsParts) {
  const { lane, fees } = context
  const { funds, signing } = parts
  // Delay until refused bytes are offered again. It is set only while the table processes that outcome.
  let pace: { readonly againMs: number | undefined } | undefined
  const offers = createDelayedOffers(context, parts)

  function noteLane({ reason }: SendOutcome): void {
    if (reason === 'insufficientFunds') funds.refused()
    if (reason === 'delegatedLimit') parts.delegated()
  }

  /**
   * A node's statement about its prices concerns every nonce, so it is applied before the slot asks for
   * a bump.
   */
  function notePrices(nonce: number, attempt: Attempt, { outcome, reason, needs }: SendOutcome): void {
    if (outcome === 'accepted' && reason !== 'alreadyKnown') fees.taken(attempt.fees)
    if (outcome !== 'refused') return
    if (reason === 'feeTooLow') fees.refused(attempt.fees, needs, isOfferedToAll(attempt))
    if (reason === 'replacementUnderpriced' && needs) signing.needed(nonce, needs)
  }

  /**
   * Describes a price above the ceiling, which no bump can satisfy. If the ceiling does not admit a no-op
   * either, nothing is reserved above the nonce.
   */
  function beyond(slot: Live, attempt: Attempt): Beyond | undefined {
    const transaction = parts.transactionOf(slot.nonce)
    const { aboveCeiling, fillable } = signing.ceilings(slot)
    if (aboveCeiling === undefined || (transaction && isOutsideId(transaction.id))) return undefined
    if (transaction) note(transaction, 'aboveCeiling', aboveCeiling)
    const head = slot.nonce === lane.book.floor
    const isTaken = slot.attempts.some(({ accepted }) => accepted)
    if (head && !fillable && !isTaken && isOfferedToAll(attempt))
      block(context, slot.nonce, describeAboveCeiling(aboveCeiling))
    return { head, fillable, signer: context.signer !== undefined, token: lane.token() }
  }

  /** A reply about a no-op, or about the replaced transaction, is not a reply about the transaction. */
  function isOfClaim(nonce: number, hash: Hash, claim: string): boolean {
    return lane.book.get(nonce)?.attempts.find((own) => own.hash === hash)?.claim === claim
  }

  function evaluate(nonce: number, hash: Hash, outcome: SendOutcome, { words, againMs }: Reported): void {
    // Kept for the error of a failed transaction and for callers whose wait times out, since the node's own
    // message names the reason.
    const transaction = parts.transactionOf(nonce)
    if (transaction && isOfClaim(nonce, hash, transaction.id))
      note(transaction, 'refusal', outcome.outcome === 'accepted' ? undefined : words)
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
  }

  return {
    take(nonce: number, hash: Hash, outcome: SendOutcome, details: Reported): void {
      parts.seen?.(outcome)
      evaluate(nonce, hash, outcome, details)
    },
    /** A count stands in for the lost answer about these bytes. */
    counted(nonce: number, hash: string | undefined): void {
      const attempt = lane.book.get(nonce)?.attempts.find((known) => known.hash === hash)
      if (attempt === undefined || attempt.accepted) return
      parts.sent(nonce)
      evaluate(nonce, attempt.hash, COUNTED, { words: undefined })
    },
    /**
     * Sends the same bytes again. If an outcome asks for that (rows 13 and 18), the delivery of the endpoint
     * re-sends them by itself, unless the endpoint does not accept them; the other endpoints receive them
     * too. If the transaction makes no progress, every endpoint receives it.
     */
    later(nonce: number): void {
      // Bytes that wait for their own delayed offer keep waiting for it.
      if (pace === undefined) return offers.has(nonce) ? undefined : parts.broadcaster().again(nonce)
      parts.broadcaster().elsewhere(nonce)
      if (pace.againMs !== undefined) offers.add(nonce, pace.againMs)
    },
  }
}

const COUNTED: SendOutcome = { outcome: 'accepted', reason: 'alreadyKnown', counted: false }

const REFUSED_PAUSE_MS_MAX = 15_000
/** Pause between two checks whether bytes may have landed. */
const LANDED_WAIT_MS = 1_000
/**
 * Limits the wait for a head that never joins the chain (for instance an invented one), and for a count
 * without evidence.
 */
const LANDED_WAITS_MAX = 30

/**
 * The bytes were refused permanently and the nonce is not given up, because higher nonces are signed or no
 * signer can sign a no-op. The node may accept the bytes later, so they are offered again with doubling
 * pauses.
 */
function spaced(againMs: number, slot: Slot | undefined): number {
  const refusals = slot?.state === 'live' ? slot.refusals : 0
  return Math.min(REFUSED_PAUSE_MS_MAX, againMs * 2 ** Math.max(0, refusals + 1 - REFUSALS_MAX))
}

/** A second send goes to every endpoint that accepts sends. */
const isOfferedToAll = ({ sends }: Attempt): boolean => sends >= 2

/** Translates an outcome of section 5 into an event of section 4. */
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
