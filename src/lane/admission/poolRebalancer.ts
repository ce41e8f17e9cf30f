import type { Lane } from '../../allocator/lane.js'
import type { HoldReason } from '../../types/index.js'
import type { LaneKey } from '../../types/store.js'
import type { PendingQueue } from '../queue/pendingQueue.js'
import type { FindFundedLane, LaneSession } from '../session/laneSession.js'
import { attemptCostBound } from '../signing/cost.js'
import type { FeeOracle } from '../signing/feeOracle.js'
import type { Transaction } from '../transaction/transaction.js'

type PoolRebalancerContext = {
  readonly lane: Lane
  readonly fees: FeeOracle
  readonly session: LaneSession
  readonly closed: boolean
}

/**
 * Moves queued transactions from a lane that sends nothing to another lane of its pool that can pay for them.
 */
export type PoolRebalancer = {
  /** Balances may have changed: moves every transaction that can move. */
  check(): void
  /**
   * Tries to move a transaction that this account cannot pay for. `later`: another lane may turn out to be
   * able to pay.
   */
  tryMoveToFundedLane(transaction: Transaction): MoveResult
}

export type MoveResult = 'gone' | 'later' | 'never'

/** With one of these holds the lane sends no queued transaction. */
const IDLE: readonly HoldReason[] = ['starved', 'blocked', 'paused', 'jump', 'deepReorg', 'feeBudget']

export function createPoolRebalancer(parts: {
  readonly context: PoolRebalancerContext
  readonly queue: PendingQueue<Transaction>
  /** The transactions that were set aside because the account cannot pay for them. */
  readonly awaitingFunds: () => readonly Transaction[]
  readonly handOff: (transaction: Transaction, to: LaneKey) => void
}): PoolRebalancer {
  const { context, queue } = parts
  const { lane, session } = context
  // True until the last handed-over transactions are written. Only then do the other lanes count them, and
  // can be asked again.
  let isHandingOff = false

  function offer(transaction: Transaction, placeFor: FindFundedLane): MoveResult {
    if (!isMovable(transaction)) return 'never'
    const { gas, pooled = [] } = transaction.record
    // Without its gas only the value is known as a lower bound of the cost, so each account is tried once.
    const to = placeFor(attemptCostBound(context, transaction), gas === undefined ? pooled : [])
    if (to === undefined) return 'never'
    if (to === 'later') return 'later'
    parts.handOff(transaction, to)
    if (!isHandingOff) {
      lane.journal.touch(() => {
        isHandingOff = false
      })
    }
    isHandingOff = true
    return 'gone'
  }

  return {
    check() {
      if (isHandingOff || session.rebalancing === undefined) return
      const isIdle = session.rebalancing.isLeaving || IDLE.some((reason) => lane.holds.has(reason))
      const waiting = [...(isIdle ? queue : []), ...parts.awaitingFunds()]
      if (waiting.length === 0) return
      const placeFor = session.rebalancing.places()
      for (const transaction of waiting.sort(first)) offer(transaction, placeFor)
    },
    tryMoveToFundedLane(transaction) {
      if (session.rebalancing === undefined || context.closed) return 'never'
      return isHandingOff && isMovable(transaction)
        ? 'later'
        : offer(transaction, session.rebalancing.places())
    },
  }
}

/** Whether any account may send it: it does not depend on its sender, and was never signed. */
function isMovable({ record, notes, replaces }: Transaction): boolean {
  const { pooled, hash, request, needs } = record
  if (pooled === undefined || hash !== undefined || notes?.previouslySigned || replaces !== undefined)
    return false
  if (request.authorize !== undefined) return false
  return needs?.deploys === undefined && needs?.effect === undefined && needs?.follows === undefined
}

function first(one: Transaction, other: Transaction): number {
  return other.priority - one.priority || one.sequence - other.sequence
}
