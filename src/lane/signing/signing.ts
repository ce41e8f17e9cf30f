import type { LocalAccount } from 'viem'
import type { Committed } from '../../allocator/journal.js'
import { type EndpointPool, newestBlock } from '../../chain/endpoints/endpointPool.js'
import type { Attempt } from '../../ledger/slot.js'
import { attemptWith } from '../../ledger/slotWith.js'
import type { GasEstimator } from '../gas/gas.js'
import type { LaneSession } from '../session/laneSession.js'
import { createTupleSigner } from '../transaction/authorize.js'
import type { Transaction } from '../transaction/transaction.js'
import { type BumpOrdersContext, createBumpOrders } from './bumpOrders.js'
import { createCeilings } from './ceilings.js'
import { createClaimOrders } from './claimOrders.js'
import { createEnvelopes } from './envelope.js'
import type { FeeOracle } from './feeOracle.js'
import { createSigningGroup, type SigningGroup } from './group.js'
import type { Job, SignOrder } from './job.js'
import { createNoopOrders, type NoopOrdersContext } from './noopOrders.js'
import { createOffers, type Offers } from './offers.js'
import { createOpenJobs } from './openJobs.js'
import { createSignerCheck } from './signerCheck.js'
import { createSignFailures, type SignFailuresContext } from './signFailures.js'

type SigningContext = BumpOrdersContext &
  NoopOrdersContext &
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
  const { lane, endpointPool } = context
  const { freed } = parts
  const ceilings = createCeilings(context, parts.waiting)
  const offers = createOffers(context, ceilings)
  const claimOrder = createClaimOrders(context, ceilings, offers)
  const noops = createNoopOrders(context, ceilings, offers, parts.estimator)
  const bumpOrder = createBumpOrders(context, ceilings, offers)
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
      const asked = orderOf(job)
      const order = asked instanceof Promise ? await asked : asked
      isHanded = order !== undefined && (await make(job, order))
    } catch (error) {
      failed(job, error)
    } finally {
      if (!isHanded) over(job)
    }
  }

  function over(job: Job): void {
    if (job.kind === 'noop') noops.over()
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

  /** Undefined if there is nothing to sign any more. */
  function orderOf(job: Job): SignOrder | undefined | Promise<SignOrder | undefined> {
    switch (job.kind) {
      case 'claim':
        return claimOrder(job)
      case 'noop':
        return noops.order(job)
      case 'bump':
        return bumpOrder(job)
      default:
        return job satisfies never
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
    codeChanged: noops.codeChanged,
    idle: jobs.idle,
  }
}
