import type { Lane } from '../../allocator/lane.js'
import type { HoldReason } from '../../types/index.js'
import type { PendingQueue } from '../queue/pendingQueue.js'
import type { FindFundedLane, LaneSession } from '../session/laneSession.js'
import { attemptCostBound } from '../signing/cost.js'
import type { FeeOracle } from '../signing/feeOracle.js'
import type { Transaction } from '../transaction/transaction.js'
import type { Intake } from './intake.js'
import type { Preparer } from './prepare.js'

type PoolRebalancerContext = {
  readonly lane: Lane
  readonly fees: FeeOracle
  readonly session: LaneSession
  readonly closed: boolean
}

/** What waits at a key that sends nothing goes to another lane of its pool, one that can pay for it. */
export type PoolRebalancer = {
  /** More may be known of the money here and there: what can go, goes. */
  look(): void
  /** It cannot be paid here. `later`: it may be, elsewhere. */
  tryMoveToFundedLane(transaction: Transaction): MoveResult
}

export type MoveResult = 'gone' | 'later' | 'never'

/** Held by one of these, the lane sends nothing of what waits. */
const IDLE: readonly HoldReason[] = ['starved', 'blocked', 'paused', 'jump', 'deepReorg', 'feeBudget']

export function createPoolRebalancer(parts: {
  readonly context: PoolRebalancerContext
  readonly queue: PendingQueue<Transaction>
  readonly preparer: () => Pick<Preparer, 'awaitingFunds'>
  readonly intake: () => Pick<Intake, 'hand'>
}): PoolRebalancer {
  const { context, queue } = parts
  const { lane, session } = context
  // What was handed to others last is not in their books yet: they are asked again once it is.
  let handing = false

  function offer(transaction: Transaction, placeFor: FindFundedLane): MoveResult {
    if (!isAnyones(transaction)) return 'never'
    const { gas, pooled = [] } = transaction
    // Without its gas it is only known to cost more than its value: it is tried at each account once.
    const to = placeFor(attemptCostBound(context, transaction), gas === undefined ? pooled : [])
    if (to === undefined) return 'never'
    if (to === 'later') return 'later'
    parts.intake().hand(transaction, to)
    if (!handing) {
      lane.journal.touch(() => {
        handing = false
      })
    }
    handing = true
    return 'gone'
  }

  return {
    look() {
      if (handing || session.rebalancing === undefined) return
      const isIdle = session.rebalancing.isLeaving || IDLE.some((reason) => lane.holds.has(reason))
      const waiting = [...(isIdle ? queue : []), ...parts.preparer().awaitingFunds]
      if (waiting.length === 0) return
      const placeFor = session.rebalancing.places()
      for (const transaction of waiting.sort(first)) offer(transaction, placeFor)
    },
    tryMoveToFundedLane(transaction) {
      if (session.rebalancing === undefined || context.closed) return 'never'
      return handing && isAnyones(transaction) ? 'later' : offer(transaction, session.rebalancing.places())
    },
  }
}

/** Nothing of it depends on the account that sends it, and nothing of it was ever signed. */
function isAnyones({
  pooled,
  hash,
  previouslySigned: rebound,
  replaces,
  request,
  needs,
}: Transaction): boolean {
  if (pooled === undefined || hash !== undefined || rebound || replaces !== undefined) return false
  if (request.authorize !== undefined) return false
  return needs?.deploys === undefined && needs?.effect === undefined && needs?.follows === undefined
}

function first(one: Transaction, other: Transaction): number {
  return other.priority - one.priority || one.sequence - other.sequence
}
