import type { Hex, LocalAccount } from 'viem'
import type { Committed } from '../../allocator/journal.js'
import type { Lane } from '../../allocator/lane.js'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import { newestBlock } from '../../chain/endpoints/newestBlock.js'
import { AccountFailure } from '../../errors/accountFailure.js'
import { isTxlaneError, type TxlaneError } from '../../errors/base.js'
import { capped, type FeeCeiling, type Fees, feeCap } from '../../ledger/fees.js'
import { NonceMap } from '../../ledger/nonceMap.js'
import { type Attempt, newestAttempt } from '../../ledger/slot.js'
import { attemptWith } from '../../ledger/slotWith.js'
import type { Clock } from '../../platform/clock.js'
import type { Repeats } from '../../platform/repeats.js'
import { reportError } from '../../platform/reportError.js'
import type { Limits, Tx, TxRequest } from '../../types/index.js'
import { isOutsideId } from '../../validate/stageOrder.js'
import type { Emitter } from '../emitter.js'
import type { GasEstimator } from '../gas/gas.js'
import type { LaneSession } from '../session/laneSession.js'
import { createTupleSigner, tuplesOf } from '../transaction/authorize.js'
import type { Transaction } from '../transaction/transaction.js'
import { txError } from '../transaction/txError.js'
import { block } from './block.js'
import { createCeilings } from './ceilings.js'
import { type Content, createEnvelopes } from './envelope.js'
import { explicitFees } from './explicitFees.js'
import type { FeeOracle } from './feeOracle.js'
import { createSigningGroup, type SigningGroup } from './group.js'
import { createOffers, type Offers } from './offers.js'
import { createSignerCheck } from './signerCheck.js'

type SigningContext = {
  readonly lane: Lane
  readonly endpointPool: EndpointPool
  readonly clock: Clock
  readonly limits: Limits
  readonly events: Emitter
  readonly errors: Repeats<Error>
  readonly fees: FeeOracle
  signer: LocalAccount | undefined
  readonly transactions: Map<string, Transaction>
  txOf(transaction: Transaction): Tx
  readonly session: LaneSession
  readonly closed: boolean
  blockedAt: number
}

/**
 * Turns the signatures that the table requests into journaled bytes: first attempts, replacements, bumps and
 * no-ops.
 */
export type Signing = Pick<Offers, 'ceilings' | 'dear' | 'needed'> &
  Pick<SigningGroup, 'whole'> & {
    /** Signs the claim's first attempt at this nonce, which outbids the attempts of earlier claims there. */
    claim(nonce: number, claim: string, token: number): void
    noop(nonce: number, token: number): void
    bump(nonce: number, token: number, underbids: number): void
    /**
     * Number of signatures under way. Signed bytes that wait for the journal do not count, because one write
     * may take a whole window.
     */
    readonly signatures: number
    /** Number of jobs that are not journaled yet, signed or not. */
    readonly open: number
    /** Resolves when no job is open. */
    idle(): Promise<void>
    /** The account's code has changed: the gas of a self-transfer is estimated again. */
    codeChanged(): void
  }

type Kind = 'claim' | 'noop' | 'bump'
type Job = {
  readonly kind: Kind
  readonly nonce: number
  readonly token: number
  /** The signature is done. */
  isSigned: boolean
} & (
  | { readonly kind: 'claim'; readonly claim: string }
  | { readonly kind: 'noop' }
  | { readonly kind: 'bump'; readonly underbids: number }
)
/** The content and fees to sign, for a transaction or a no-op. */
type Order = { readonly claim: string | undefined; readonly content: Content; readonly offer: Fees }

// A self-transfer costs 21,000 gas (yellow paper, G_transaction), and more if the account has code. So it is
// estimated; this is the fallback.
const NOOP_GAS_FIXED = 100_000n
const SIGN_RETRY_MS = 500
const SIGN_RETRY_MS_MAX = 10_000

export type SigningParts = {
  /**
   * Resolves when the predecessor's bytes were handed to the journal, or never will be. Undefined if there is
   * nothing to wait for.
   */
  readonly waitForPredecessor: (transaction: Transaction) => Promise<void> | undefined
  /** The bytes of the transaction were handed to the journal. */
  readonly markJournaled: (transaction: Transaction) => void
  /** Called when another transaction may be signed. */
  readonly freed: () => void
  /** The next transaction in the queue. */
  readonly waiting: () => Transaction | undefined
  readonly estimator: Pick<GasEstimator, 'estimate'>
}

export function createSigning(context: SigningContext, parts: SigningParts): Signing {
  const { lane, endpointPool, fees, limits, events } = context
  const { freed } = parts
  const ceilings = createCeilings(context, parts.waiting)
  const offers = createOffers(context, ceilings)
  // The token of the newest job of a kind at each nonce, because the table may request the same signature
  // twice.
  const running: Readonly<Record<Kind, NonceMap<number>>> = {
    claim: new NonceMap(),
    noop: new NonceMap(),
    bump: new NonceMap(),
  }
  let open = 0
  let unsigned = 0
  const fills: (() => void)[] = []
  const idlers: (() => void)[] = []
  let fillsOpen = 0
  let noopGas: Promise<bigint> | undefined
  const sign = createEnvelopes(endpointPool.chain)
  const checkSigner = createSignerCheck(endpointPool.chain.id)
  const tuples = createTupleSigner(endpointPool.chain.id)
  const group = createSigningGroup(endpointPool.turns)

  function start(job: Job): void {
    const { kind, nonce, token } = job
    if (running[kind].get(nonce) === token) return
    running[kind].set(nonce, token)
    open++
    unsigned++
    void run(job)
  }

  async function run(job: Job): Promise<void> {
    let isHanded = false
    try {
      // Known values are not awaited, here and below, because this runs for every transaction.
      const asked = orderOf(job)
      const order = asked instanceof Promise ? await asked : asked
      isHanded = order !== undefined && (await make(job, order))
    } catch (error) {
      jobFailed(job, error)
    } finally {
      if (!isHanded) over(job)
    }
  }

  function signed(job: Job): void {
    if (!job.isSigned) unsigned--
    job.isSigned = true
  }

  function over(job: Job): void {
    const { kind, nonce, token } = job
    if (running[kind].get(nonce) === token) running[kind].delete(nonce)
    open--
    signed(job)
    if (kind === 'noop') fillOver()
    if (open === 0) for (const idle of idlers.splice(0)) idle()
    freed()
  }

  /**
   * Signs and commits. True if the journal has the bytes; it then calls `journaled` with the result. The
   * table is informed only then: bytes that are not journaled do not exist (P6).
   */
  async function make(job: Job, { claim, content, offer }: Order): Promise<boolean> {
    const { nonce, token } = job
    const { signer } = context
    if (signer === undefined || context.closed) return false
    const signing = tuples(signer, content.request, nonce)
    const authorizationList = signing && (await signing)
    const { raw, hash } = await group.sign(() =>
      sign(signer, { content, nonce, fees: offer, authorizationList }),
    )
    const check = checkSigner(signer, raw)
    if (check) await check
    signed(job)
    freed()
    const { whole } = group
    if (whole) await whole
    const transaction = claim === undefined ? undefined : context.transactions.get(claim)
    const turn = transaction && parts.waitForPredecessor(transaction)
    if (turn) await turn
    const { epoch } = lane.lease
    const { gas } = content
    const madeAt = newestBlock(context)
    const open: Attempt = { hash, raw, fees: offer, gas, claim, epoch, sends: 0, accepted: false, madeAt }
    const attempt: Attempt = transaction?.private ? attemptWith(open, { private: true }) : open
    lane.journal.commit(nonce, token, attempt, (committed) => journaled(job, attempt, committed))
    if (transaction) parts.markJournaled(transaction)
    return true
  }

  function journaled(job: Job, attempt: Attempt, committed: Committed): void {
    const { nonce, token } = job
    offers.made(nonce)
    try {
      const stored = committed === 'committed'
      if (committed !== 'stale') lane.apply(nonce, { type: 'journaled', token, attempt, stored })
    } catch (error) {
      jobFailed(job, error)
    } finally {
      over(job)
    }
  }

  function jobFailed(job: Job, error: unknown): void {
    const slot = lane.book.get(job.nonce)
    const id =
      slot?.state === 'reserved' ? slot.claim : slot?.state === 'live' ? slot.claims.at(-1) : undefined
    const transaction = id === undefined ? undefined : context.transactions.get(id)
    if (job.kind === 'claim' && transaction && slot && 'token' in slot && slot.token === job.token) {
      if (slot.state === 'reserved' && transaction.previouslySigned)
        return signLater(transaction, job.nonce, error)
      transaction.withdrawError = signerError(transaction, error)
      lane.apply(job.nonce, { type: 'withdraw', claim: transaction.id, why: 'failed' })
      return
    }
    // A bump or a no-op that could not be signed is requested again when the nonce is stuck the next time.
    reportError(context, error)
  }

  /** Its callers know it as sent, so one failure of the signer does not end it. */
  function signLater(transaction: Transaction, nonce: number, error: unknown): void {
    const failures = transaction.signerPause?.failures ?? 0
    const pauseMs = Math.min(SIGN_RETRY_MS_MAX, SIGN_RETRY_MS * 2 ** failures)
    transaction.signerPause = { failures: failures + 1, untilMs: context.clock.now() + pauseMs }
    reportError(context, error)
    lane.apply(nonce, { type: 'withdraw', claim: transaction.id, why: 'again' })
  }


  /** Undefined if there is nothing to sign any more. */
  function orderOf(job: Job): Order | undefined | Promise<Order | undefined> {
    switch (job.kind) {
      case 'claim':
        return claimed(job)
      case 'noop':
        return filled(job)
      case 'bump':
        return bumped(job)
      default:
        return job satisfies never
    }
  }

  function claimed({ nonce, claim }: Extract<Job, { kind: 'claim' }>): Order | undefined | Promise<Order> {
    const transaction = context.transactions.get(claim)
    if (transaction === undefined) return undefined
    // Fees that the caller has set since then take precedence (row 19, for a transaction that the lane had
    // given up).
    const given = transaction.requestedBump?.fees ?? explicitFees(transaction.request)
    if (transaction.requestedBump) transaction.requestedBump = undefined
    return given ? claimedAt(nonce, transaction, given) : claimedAtMarket(nonce, transaction)
  }

  async function claimedAtMarket(nonce: number, transaction: Transaction): Promise<Order> {
    const ceiling = ceilings.transaction(transaction, lane.book.get(nonce))
    const market = await fees.market(ceiling, transaction.feePreset)
    const first = inTypeOf(transaction.request, capped(market, ceiling))
    return claimedAt(nonce, transaction, first)
  }

  function claimedAt(nonce: number, transaction: Transaction, first: Fees): Order {
    const { request } = transaction
    const gas = transaction.gas ?? request.gas
    if (gas === undefined) throw new Error('gas is not known')
    const slot = lane.book.get(nonce)
    const content = { request, gas }
    if (slot === undefined || slot.attempts.length === 0)
      return { claim: transaction.id, content, offer: first }
    const ceiling = ceilings.transaction(transaction, slot)
    // The attempts at a freed nonce were refused for good (row 14). Outbidding them is a precaution, if it
    // can be paid.
    const offer =
      offers.above(slot, { market: first, ceiling: atLeast(ceiling, first) }) ??
      (slot.state === 'reserved' ? first : undefined)
    if (offer === undefined) throw overCeiling(transaction, ceiling)
    return { claim: transaction.id, content, offer }
  }

  async function filled({ nonce }: Job): Promise<Order | undefined> {
    await fillTurn()
    const slot = lane.book.get(nonce)
    if (slot?.state !== 'live') return undefined
    const ceiling = ceilings.noop(slot)
    const market = await fees.market(ceiling)
    const offer = offers.above(slot, { market, ceiling, baseFee: fees.baseFee() })
    if (offer === undefined) return void block(context, nonce)
    const gas = await estimateNoop()
    return { claim: undefined, content: { request: noopRequest(lane.key.address), gas }, offer }
  }

  async function bumped({ nonce, underbids }: Extract<Job, { kind: 'bump' }>): Promise<Order | undefined> {
    const slot = lane.book.get(nonce)
    if (slot?.state !== 'live') return undefined
    const newest = newestAttempt(slot)
    const transaction = newest?.claim === undefined ? undefined : context.transactions.get(newest.claim)
    if (newest === undefined || (newest.claim !== undefined && (!transaction || isOutsideId(newest.claim))))
      return undefined
    const ceiling = transaction ? ceilings.transaction(transaction, slot) : ceilings.noop(slot)
    const hurry = transaction?.requestedBump
    if (transaction && hurry) transaction.requestedBump = undefined
    const named = hurry?.fees
    const offer = offers.above(slot, {
      market: named ?? (await fees.market(ceiling, transaction?.feePreset)),
      ceiling,
      underbids,
      // Fees that a caller set are offered unchanged, unless the pool refused them.
      baseFee: named === undefined || underbids > 0 ? fees.baseFee() : undefined,
    })
    // The limit of automatic bumps does not apply to bumps by the caller.
    if (offer === undefined || (hurry === undefined && ceilings.bumpedOut(slot))) {
      if (transaction) events.emit('feeCeiling', { tx: context.txOf(transaction) })
      else block(context, nonce)
      return undefined
    }
    const request = transaction?.request ?? noopRequest(lane.key.address)
    return { claim: newest.claim, content: { request, gas: newest.gas }, offer }
  }

  /** Estimated once: the gas of a self-transfer depends on the account's code, which changes rarely. */
  function estimateNoop(): Promise<bigint> {
    noopGas ??= askNoopGas().catch(() => {
      noopGas = undefined
      return NOOP_GAS_FIXED
    })
    return noopGas
  }

  async function askNoopGas(): Promise<bigint> {
    const { address } = lane.key
    const estimate = await parts.estimator.estimate(noopRequest(address), address)
    if (estimate.kind !== 'gas') throw estimate.cause
    return estimate.gas
  }

  /**
   * Waits for one of the `fillsMax` places: a broken lane must not empty the account on no-ops before an
   * operator looks (P9).
   */
  async function fillTurn(): Promise<void> {
    if (fillsOpen < limits.fillsMax) fillsOpen++
    else await new Promise<void>((turn) => fills.push(turn))
  }

  /** Passes the place on, or frees it. */
  function fillOver(): void {
    const next = fills.shift()
    if (next) next()
    else fillsOpen--
  }

  return {
    claim: (nonce, claim, token) => start({ kind: 'claim', nonce, token, isSigned: false, claim }),
    noop: (nonce, token) => start({ kind: 'noop', nonce, token, isSigned: false }),
    bump: (nonce, token, underbids) => start({ kind: 'bump', nonce, token, isSigned: false, underbids }),
    ceilings: offers.ceilings,
    dear: offers.dear,
    needed: offers.needed,
    get whole() {
      return group.whole
    },
    get signatures() {
      return unsigned
    },
    get open() {
      return open
    },
    codeChanged() {
      noopGas = undefined
    },
    idle() {
      if (open === 0) return Promise.resolve()
      return new Promise((resolve) => idlers.push(resolve))
    },
  }
}

function noopRequest(address: Hex): TxRequest {
  return { to: address, value: 0n } as TxRequest
}

/** The fees in the form of the requested type. A type without a fee cap pays the cap as its gas price. */
function inTypeOf(request: TxRequest, market: Fees): Fees {
  const { type } = request as { type?: string | undefined }
  // EIP-7702 has no gas price: it becomes both fees.
  if (tuplesOf(request).length > 0 && 'gasPrice' in market)
    return { maxFeePerGas: market.gasPrice, maxPriorityFeePerGas: market.gasPrice }
  return type === 'legacy' || type === 'eip2930' ? { gasPrice: feeCap(market) } : market
}

/** Fees that the caller set for a first attempt may exceed the ceiling of automatic bumps. */
function atLeast(ceiling: FeeCeiling, fees: Fees): FeeCeiling {
  const cap = 'gasPrice' in fees ? fees.gasPrice : fees.maxFeePerGas
  return cap > ceiling.maxFeePerGas ? { maxFeePerGas: cap } : ceiling
}

function overCeiling(transaction: Transaction, ceiling: FeeCeiling): TxlaneError {
  return txError(
    transaction,
    'REJECTED',
    'notExecuted',
    `Replacing the transaction at nonce ${transaction.nonce} takes more than the fee ceiling of ${ceiling.maxFeePerGas} wei.`,
  )
}

function signerError(transaction: Transaction, error: unknown): TxlaneError {
  if (isTxlaneError(error)) return error
  const cause = error instanceof AccountFailure ? error.cause : error
  return txError(transaction, 'SIGNER', 'notExecuted', 'The account could not sign the transaction.', cause)
}
