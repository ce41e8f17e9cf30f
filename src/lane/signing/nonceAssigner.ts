import type { Lane } from '../../allocator/lane.js'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import type { TxlaneError } from '../../errors/base.js'
import { queueMicro } from '../../platform/microtask.js'
import type { GroupBounds } from '../queue/groups.js'
import type { PendingQueue } from '../queue/pendingQueue.js'
import { note } from '../transaction/changes.js'
import { hasFailed, type Transaction } from '../transaction/transaction.js'
import { txError } from '../transaction/txError.js'
import { attemptFeesBound } from './cost.js'
import type { FeeBudgetGuard } from './feeBudget.js'
import type { Funds } from './funds.js'
import { createMarketReads, type MarketReadsContext } from './marketReads.js'
import {
  createReservationGate,
  type ReservationGateContext,
  type ReservationGateParts,
} from './reservationGate.js'
import type { Signing } from './signing.js'

type NonceAssignerContext = MarketReadsContext &
  ReservationGateContext & { readonly lane: Lane; readonly endpointPool: Pick<EndpointPool, 'turns'> }

/** Assigns nonces to queued transactions, as fast as the window, the money and the signer allow. */
export type NonceAssigner = {
  /** Called after any change that may admit another transaction. */
  run(): void
}

type NonceAssignerOptions = ReservationGateParts & {
  readonly context: NonceAssignerContext
  readonly queue: PendingQueue<Transaction>
  readonly signing: Signing
  readonly funds: Funds
  readonly budget: Pick<FeeBudgetGuard, 'allows' | 'reserved'>
  readonly bounds: Pick<GroupBounds, 'admits' | 'closeFull' | 'reserved'>
  /** The transaction is next. Ends it if its deadline has passed. */
  readonly due: (transaction: Transaction) => void
  /** The transaction costs more than the account has: others go first. */
  readonly setAside: (transaction: Transaction, costWei: bigint) => void
  /** The transaction ends without a nonce. */
  readonly failed: (transaction: Transaction, error: TxlaneError) => void
  /** Resolves when the known chain state is not older than a few blocks; undefined if it is fresh already. */
  readonly fresh: () => Promise<void> | undefined
  /** Reports a bug of this library. The lane goes on as well as it can. */
  readonly broken: (error: unknown) => void
}

export function createNonceAssigner(options: NonceAssignerOptions): NonceAssigner {
  const { context, queue, signing, funds, bounds, budget } = options
  const { lane } = context
  const { turns } = context.endpointPool
  const mayReserve = createReservationGate(context, options)
  const market = createMarketReads(context, run)
  let scheduled = false
  let running = false
  let again = false

  /**
   * Ends transactions whose ceiling is below the minimum of every node. They get no nonce: nothing was sent,
   * and the caller gets an error.
   */
  function refuseDear(): void {
    for (let first = queue.peek(); first?.ready; first = queue.peek()) {
      const aboveCeiling = signing.aboveCeiling(first)
      note(first, 'aboveCeiling', aboveCeiling)
      if (aboveCeiling === undefined) return
      queue.remove(first)
      options.failed(first, txError(first, 'REJECTED', 'notExecuted', 'Its fees were not taken.'))
    }
  }

  async function turn(): Promise<void> {
    bounds.closeFull()
    refuseDear()
    const next = queue.peek()
    if (next === undefined || !mayReserve(next)) return
    // The current signatures leave, and answers are processed, before more are signed.
    if (signing.whole) await signing.whole
    if (turns.isSpent()) await turns.room()
    // Known values are not awaited, so that an idle lane sends at once.
    const looking = options.fresh()
    if (looking) await looking
    const isRead = market.before(queue.peek())
    if (!(typeof isRead === 'boolean' ? isRead : await isRead)) return
    const reserving = lane.exclusiveNow(reserveAll)
    if (reserving) await reserving
  }

  // Created once: a closure per turn would be compiled again each time.
  function reserveAll(): void {
    while (reserveNext()) {}
  }

  /**
   * Reserves the nonce last. Everything that can fail ran before, so a reserved nonce is nearly always used.
   */
  function reserveNext(): boolean {
    bounds.closeFull()
    const transaction = queue.peek()
    if (transaction === undefined || !mayReserve(transaction)) return false
    options.due(transaction)
    if (hasFailed(transaction)) {
      queue.remove(transaction)
      return true
    }
    if (!market.isKnown(transaction)) {
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
