import type { LocalAccount } from 'viem'
import type { Committed } from '../../allocator/journal.js'
import type { Lane } from '../../allocator/lane.js'
import { type EndpointPool, newestBlock } from '../../chain/endpoints/endpointPool.js'
import { isTxlaneError, type TxlaneError } from '../../errors/base.js'
import { AccountFailure } from '../../errors/redactError.js'
import { NonceMap } from '../../ledger/nonceMap.js'
import { type Attempt, lastClaim } from '../../ledger/slot.js'
import { attemptWith } from '../../ledger/slotWith.js'
import type { Clock } from '../../platform/clock.js'
import { createDoneWaiters } from '../../platform/doneWaiters.js'
import type { Repeats } from '../../platform/repeats.js'
import { reportError } from '../../platform/reportError.js'
import type { GasEstimator } from '../gas/gas.js'
import type { LaneSession } from '../session/laneSession.js'
import { createTupleSigner } from '../transaction/authorize.js'
import { note } from '../transaction/changes.js'
import type { Transaction } from '../transaction/transaction.js'
import { txError } from '../transaction/txError.js'
import { createEnvelopes, createSignerCheck } from './envelope.js'
import type { FeeOracle } from './feeOracle.js'
import { createSigningGroup, type SigningGroup } from './group.js'
import { createCeilings, createOffers, type Offers } from './offers.js'
import { createOrders, type Job, type JobKind, type OrdersContext, type SignOrder } from './orders.js'

type SigningContext = OrdersContext &
  SignFailuresContext & {
    readonly endpointPool: Pick<EndpointPool, 'chain' | 'tracker' | 'turns'>
    readonly fees: FeeOracle
    readonly signer: LocalAccount | undefined
    readonly transactions: Map<string, Transaction>
    readonly session: LaneSession
    readonly closed: boolean
  }

/**
 * Turns the signatures that the table requests into journaled bytes: first attempts, replacements, bumps and
 * no-ops.
 */
export type Signing = Pick<Offers, 'ceilings' | 'aboveCeiling' | 'needed'> &
  Pick<SigningGroup, 'whole'> & {
    /** Signs the claim's first attempt at this nonce, which outbids the attempts of earlier claims there. */
    claim(nonce: number, claim: string, token: number): void
    noop(nonce: number, token: number): void
    bump(nonce: number, token: number, replacementRejections: number): void
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

type SigningParts = {
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
  const { lane, endpointPool } = context
  const { freed } = parts
  const ceilings = createCeilings(context, parts.waiting)
  const offers = createOffers(context, ceilings)
  const orders = createOrders(context, ceilings, offers, parts.estimator)
  const failed = createSignFailures(context)
  const jobs = createOpenJobs()
  const sign = createEnvelopes(endpointPool.chain)
  const checkSigner = createSignerCheck(endpointPool.chain.id)
  const tuples = createTupleSigner(endpointPool.chain.id)
  const group = createSigningGroup(endpointPool.turns)

  function start(job: Job): void {
    if (jobs.open(job)) void run(job)
  }

  async function run(job: Job): Promise<void> {
    let isHanded = false
    try {
      // Known values are not awaited, here and below, because this runs for every transaction.
      const asked = orders.of(job)
      const order = asked instanceof Promise ? await asked : asked
      isHanded = order !== undefined && (await make(job, order))
    } catch (error) {
      failed(job, error)
    } finally {
      if (!isHanded) over(job)
    }
  }

  function over(job: Job): void {
    orders.over(job)
    jobs.over(job)
    freed()
  }

  /**
   * Signs and commits. True if the journal has the bytes; it then calls `journaled` with the result. The
   * table is informed only then: bytes that are not journaled do not exist (P6).
   */
  async function make(job: Job, { claim, content, offer }: SignOrder): Promise<boolean> {
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
    jobs.signed(job)
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
    const attempt: Attempt = transaction?.record.private ? attemptWith(open, { private: true }) : open
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
      failed(job, error)
    } finally {
      over(job)
    }
  }

  return {
    claim: (nonce, claim, token) => start({ kind: 'claim', nonce, token, isSigned: false, claim }),
    noop: (nonce, token) => start({ kind: 'noop', nonce, token, isSigned: false }),
    bump: (nonce, token, replacementRejections) =>
      start({ kind: 'bump', nonce, token, isSigned: false, replacementRejections }),
    ceilings: offers.ceilings,
    aboveCeiling: offers.aboveCeiling,
    needed: offers.needed,
    get whole() {
      return group.whole
    },
    get signatures() {
      return jobs.unsignedCount
    },
    get open() {
      return jobs.count
    },
    codeChanged: orders.codeChanged,
    idle: jobs.idle,
  }
}

/** The jobs from their start until they are journaled or have failed. */
type OpenJobs = {
  /** Opens the job. False if it is open already, because the table may request the same signature twice. */
  open(job: Job): boolean
  /** The signature of the job is done. */
  signed(job: Job): void
  over(job: Job): void
  readonly count: number
  /** Number of jobs without a signature. */
  readonly unsignedCount: number
  /** Resolves when no job is open. */
  idle(): Promise<void>
}

function createOpenJobs(): OpenJobs {
  // The token of the newest job of a kind at each nonce.
  const tokens: Readonly<Record<JobKind, NonceMap<number>>> = {
    claim: new NonceMap(),
    noop: new NonceMap(),
    bump: new NonceMap(),
  }
  let count = 0
  let unsignedCount = 0
  const idlers = createDoneWaiters(() => count === 0)

  function signed(job: Job): void {
    if (!job.isSigned) unsignedCount--
    job.isSigned = true
  }

  return {
    open({ kind, nonce, token }) {
      if (tokens[kind].get(nonce) === token) return false
      tokens[kind].set(nonce, token)
      count++
      unsignedCount++
      return true
    },
    signed,
    over(job) {
      const { kind, nonce, token } = job
      if (tokens[kind].get(nonce) === token) tokens[kind].delete(nonce)
      count--
      signed(job)
      idlers.check()
    },
    get count() {
      return count
    },
    get unsignedCount() {
      return unsignedCount
    },
    idle: idlers.add,
  }
}

const RETRY_MS = 500
const RETRY_MS_MAX = 10_000

type SignFailuresContext = {
  readonly lane: Lane
  readonly clock: Pick<Clock, 'now'>
  readonly transactions: ReadonlyMap<string, Transaction>
  readonly errors: Repeats<Error>
}

/** Returns the function that handles a job that failed: its claim is withdrawn, or the error is reported. */
function createSignFailures(context: SignFailuresContext): (job: Job, error: unknown) => void {
  const { lane, clock, transactions } = context

  /** Callers know the transaction as sent, so one failure of the signer does not end it. */
  function signLater(transaction: Transaction, nonce: number, error: unknown): void {
    const failures = transaction.notes?.signerPause?.failures ?? 0
    const pauseMs = Math.min(RETRY_MS_MAX, RETRY_MS * 2 ** failures)
    note(transaction, 'signerPause', { failures: failures + 1, untilMs: clock.now() + pauseMs })
    reportError(context, error)
    lane.apply(nonce, { type: 'withdraw', claim: transaction.id, why: 'again' })
  }

  return ({ kind, nonce, token }, error) => {
    const slot = lane.book.get(nonce)
    const id = slot && lastClaim(slot)
    const transaction = id === undefined ? undefined : transactions.get(id)
    if (kind === 'claim' && transaction && slot && 'token' in slot && slot.token === token) {
      if (slot.state === 'reserved' && transaction.notes?.previouslySigned)
        return signLater(transaction, nonce, error)
      note(transaction, 'withdrawError', signerError(transaction, error))
      lane.apply(nonce, { type: 'withdraw', claim: transaction.id, why: 'failed' })
      return
    }
    // A bump or a no-op that could not be signed is requested again when the nonce is stuck the next time.
    reportError(context, error)
  }
}

function signerError(transaction: Transaction, error: unknown): TxlaneError {
  if (isTxlaneError(error)) return error
  const cause = error instanceof AccountFailure ? error.cause : error
  return txError(transaction, 'SIGNER', 'notExecuted', 'The account could not sign the transaction.', cause)
}
