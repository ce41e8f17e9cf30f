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

/** Moves transactions from the line to nonces, as fast as the window, the money and the signer allow. */
export type NonceAssigner = {
  /** Something changed that may let one more through. */
  run(): void
}

/** After a market that brought no answer; doubled each time. */
const FEES_RETRY_MS = 300
const FEES_RETRY_MS_MAX = 3_000
/** For each signature that may be under way, so many may wait for the journal: one write takes them all. */
const UNJOURNALED = 8

export function createNonceAssigner(options: {
  context: NonceAssignerContext
  queue: PendingQueue<Transaction>
  signing: Signing
  funds: Funds
  budget: Pick<FeeBudgetGuard, 'allows' | 'reserved'>
  /** Whether it may take the next nonce now: some go alone. */
  admits: (transaction: Transaction) => boolean
  /** It is next: ends it where its deadline has passed. */
  due: (transaction: Transaction) => void
  /** Whether one more may be handed out. */
  hasRoom: () => boolean
  /** How much groups may have in flight. */
  bounds: Pick<GroupBounds, 'admits' | 'closeFull' | 'reserved'>
  /** The account has less than it costs: others go on before it. */
  setAside: (transaction: Transaction, costWei: bigint) => void
  /** It ends without a nonce. */
  failed: (transaction: Transaction, error: TxlaneError) => void
  /** Resolves when what is known of the chain is not older than a few blocks; undefined where it is not. */
  fresh: () => Promise<void> | undefined
  /** A bug of ours: told, and the lane goes on as well as it can. */
  broken: (error: unknown) => void
}): NonceAssigner {
  const { context, queue, signing, funds, bounds, budget } = options
  const { lane, clock, limits, fees } = context
  let scheduled = false
  let running = false
  let again = false
  let retryingFees = false
  let feeFailures = 0
  // For transactions like this one, by their preset, what the market asks for is known in this turn.
  let asked: Transaction | undefined

  /** What no node takes within its ceiling gets no nonce: nothing of it was sent, and its caller hears of it. */
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
    // What is being signed leaves, and answers are taken in, before more is signed.
    if (signing.whole) await signing.whole
    // What is there already is not awaited: a lane that was idle sends at once.
    const looking = options.fresh()
    if (looking) await looking
    const first = queue.peek()
    const asks = first !== undefined && !fees.known(first)
    // However often something else changes: the market is asked again when its pause is over.
    if (asks && retryingFees) return
    try {
      // Once a block, for the lane: what is signed in between goes by the same answer.
      if (asks) await fees.market(undefined, first.feePreset)
      feeFailures = 0
    } catch (error) {
      return retryFees(error)
    }
    asked = asks ? first : undefined
    const turn = lane.exclusiveNow(reserveAll)
    if (turn) await turn
  }

  // Made once, as what is made for each turn is compiled anew each time.
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

  /** Nonce last: what can fail ran before, so a reserved nonce is nearly always used. */
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
    // Whether it is only backpressure is seen with the next reading of the balance.
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
    // What comes to the line later runs it anew.
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
