import type { LocalAccount } from 'viem'
import type { Lane } from '../../allocator/lane.js'
import type { TxlaneError } from '../../errors/base.js'
import type { Clock } from '../../platform/clock.js'
import { queueMicro } from '../../platform/microtask.js'
import type { Repeats } from '../../platform/repeats.js'
import { reportError } from '../../platform/reportError.js'
import type { Limits } from '../../types/index.js'
import type { GroupBounds } from '../queue/groupBounds.js'
import type { PendingQueue } from '../queue/pendingQueue.js'
import { drop, hasFailed, type Transaction } from '../transaction/transaction.js'
import { txError } from '../transaction/txError.js'
import { attemptFeesBound } from './cost.js'
import type { FeeBudgetGuard } from './feeBudget.js'
import type { FeeOracle } from './feeOracle.js'
import type { Funds } from './funds.js'
import type { Signing } from './signing.js'

type NonceAssignerContext = {
  readonly lane: Lane
  readonly clock: Clock
  readonly limits: Limits
  readonly errors: Repeats<Error>
  readonly fees: FeeOracle
  signer: LocalAccount | undefined
  readonly closed: boolean
}

/** Assigns nonces to queued transactions, as fast as the window, the money and the signer allow. */
export type NonceAssigner = {
  /** Called after any change that may admit another transaction. */
  run(): void
}

/** Pause after a failed read of the market price, doubled each time. */
const FEES_RETRY_MS = 300
const FEES_RETRY_MS_MAX = 3_000
/** Per concurrent signature, this many may wait for the journal, which takes all of them in one write. */
const UNJOURNALED = 8

export function createNonceAssigner(options: {
  context: NonceAssignerContext
  queue: PendingQueue<Transaction>
  signing: Signing
  funds: Funds
  budget: Pick<FeeBudgetGuard, 'allows' | 'reserved'>
  /** Whether the transaction may take the next nonce now. Some transactions have to go alone. */
  admits: (transaction: Transaction) => boolean
  /** The transaction is next. Ends it if its deadline has passed. */
  due: (transaction: Transaction) => void
  /** Whether one more nonce may be assigned. */
  hasRoom: () => boolean
  /** The bounds of transactions in flight per group. */
  bounds: Pick<GroupBounds, 'admits' | 'closeFull' | 'reserved'>
  /** The transaction costs more than the account has: others go first. */
  setAside: (transaction: Transaction, costWei: bigint) => void
  /** The transaction ends without a nonce. */
  failed: (transaction: Transaction, error: TxlaneError) => void
  /** Resolves when the known chain state is not older than a few blocks; undefined if it is fresh already. */
  fresh: () => Promise<void> | undefined
  /** Reports a bug of this library. The lane goes on as well as it can. */
  broken: (error: unknown) => void
}): NonceAssigner {
  const { context, queue, signing, funds, bounds, budget } = options
  const { lane, clock, limits, fees } = context
  let scheduled = false
  let running = false
  let again = false
  let retryingFees = false
  let feeFailures = 0
  // The market price for transactions with the preset of this one was read in this turn.
  let asked: Transaction | undefined

  /**
   * Ends transactions whose ceiling is below the minimum of every node. They get no nonce: nothing was sent,
   * and the caller gets an error.
   */
  function refuseDear(): void {
    for (let first = queue.peek(); first?.ready; first = queue.peek()) {
      const aboveCeiling = signing.dear(first)
      if (aboveCeiling === undefined) return drop(first, 'aboveCeiling')
      first.aboveCeiling = aboveCeiling
      queue.remove(first)
      options.failed(first, txError(first, 'REJECTED', 'notExecuted', 'Its fees were not taken.'))
    }
  }

  async function turn(): Promise<void> {
    bounds.closeFull()
    refuseDear()
    if (!mayReserve()) return
    // The current signatures leave, and answers are processed, before more are signed.
    if (signing.whole) await signing.whole
    // Known values are not awaited, so that an idle lane sends at once.
    const looking = options.fresh()
    if (looking) await looking
    const first = queue.peek()
    const asks = first !== undefined && !fees.known(first)
    // Other changes do not shorten the pause before the next read of the market price.
    if (asks && retryingFees) return
    try {
      // Once a block, for the whole lane. Signatures in between use the same answer.
      if (asks) await fees.market(undefined, first.feePreset)
      feeFailures = 0
    } catch (error) {
      return retryFees(error)
    }
    asked = asks ? first : undefined
    const turn = lane.exclusiveNow(reserveAll)
    if (turn) await turn
  }

  // Created once: a closure per turn would be compiled again each time.
  function reserveAll(): void {
    while (reserveNext()) {}
  }

  function mayReserve(): boolean {
    const first = queue.peek()
    return (
      first !== undefined &&
      options.admits(first) &&
      bounds.admits(first) &&
      !lane.holds.any &&
      !context.closed &&
      // A lane that an allocator opened has no key until a sender joins it.
      context.signer !== undefined &&
      signing.signatures < limits.signMax &&
      signing.open < UNJOURNALED * limits.signMax &&
      options.hasRoom()
    )
  }

  /**
   * Reserves the nonce last. Everything that can fail ran before, so a reserved nonce is nearly always used.
   */
  function reserveNext(): boolean {
    bounds.closeFull()
    const transaction = queue.peek()
    if (transaction === undefined || !mayReserve()) return false
    options.due(transaction)
    if (hasFailed(transaction)) {
      queue.remove(transaction)
      return true
    }
    const isAsked = asked !== undefined && asked.feePreset === transaction.feePreset
    if (!isAsked && !fees.known(transaction)) {
      again = true
      return false
    }
    const feesWei = attemptFeesBound(context, transaction)
    const cost = (transaction.request.value ?? 0n) + feesWei
    if (funds.isBeyond(cost)) {
      options.setAside(transaction, cost)
      return true
    }
    // The next reading of the balance shows whether this is only backpressure.
    if (!funds.afford(cost) || !budget.allows(feesWei)) return false
    queue.shift()
    const nonce = lane.next()
    const token = lane.token()
    funds.reserved(nonce, cost)
    bounds.reserved(nonce, transaction)
    budget.reserved(nonce, feesWei)
    lane.apply(nonce, { type: 'reserve', claim: transaction.id, token })
    return true
  }

  function retryFees(error: unknown): void {
    reportError(context, error)
    retryingFees = true
    const pauseMs = Math.min(FEES_RETRY_MS_MAX, FEES_RETRY_MS * 2 ** feeFailures++)
    clock.setTimer(() => {
      retryingFees = false
      run()
    }, pauseMs)
  }

  function run(): void {
    // A transaction that joins the queue later calls `run` again.
    if (queue.size === 0) return
    if (running) {
      again = true
      return
    }
    if (scheduled) return
    scheduled = true
    queueMicro(() => void loop())
  }

  async function loop(): Promise<void> {
    scheduled = false
    running = true
    do {
      again = false
      await turn().catch(options.broken)
    } while (again)
    running = false
  }

  return { run }
}
