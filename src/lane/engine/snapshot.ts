import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import type { Book } from '../../ledger/book.js'
import type { Slot } from '../../ledger/slot.js'
import type { LaneReading } from '../../rpc/methods/readLane.js'
import { hasEnded } from '../../store/ended.js'
import type { HoldReason, LaneSnapshot } from '../../types/index.js'
import type { LaneSession } from '../session/laneSession.js'
import { hasReached, type Transaction } from '../transaction/transaction.js'
import { storedReason, summaryOf } from '../transaction/waitingFor.js'
import type { Core } from './core.js'
import type { Admitting, Sending } from './parts.js'
import type { WaitReasons } from './waitReasons.js'

/** The state of the lane now, from its own books, without a request to a node. */
export function snapshotOf(
  { context }: Core,
  { broadcaster, budget, code, funds }: Sending,
  { intake }: Admitting,
  reasons: WaitReasons,
): LaneSnapshot {
  const { endpointPool, closed } = context
  const { book, holds, key } = context.lane
  const head = endpointPool.tracker.head
  const holes: number[] = []
  for (const { nonce, state } of book.slots.values())
    if (state === 'hole' && nonce < book.cursor && nonce >= book.floor) holes.push(nonce)
  return {
    holder: !closed,
    chainId: key.chainId,
    address: key.address,
    floor: book.floor,
    cursor: book.cursor,
    coveredTo: book.coveredTo,
    window: broadcaster.window,
    holes: holes.sort((a, b) => a - b),
    queued: intake.open,
    inFlight: countInFlight(book),
    holds: holds.list(),
    holdDetails: holds.details(),
    head: head && { number: head.number, hash: head.hash },
    balanceWei: funds.balanceWei,
    ...(budget.windows === undefined ? {} : { feeBudget: budget.windows }),
    account: code.account,
    endpoints: endpointsOf(endpointPool),
    waiting: reasons.summary(),
  }
}

function endpointsOf(endpointPool: Pick<EndpointPool, 'endpoints'>): LaneSnapshot['endpoints'] {
  return endpointPool.endpoints.map((endpoint) => {
    const { port, role, profile, trouble, gate } = endpoint
    const { restReason: rests } = gate
    const { requestsPerSecond, callsPerSecond, waiting, denied } = gate.status()
    const isLimited = requestsPerSecond !== undefined || callsPerSecond !== undefined || denied > 0
    return {
      name: port.name,
      role,
      profile: profile.current(),
      requests: port.stats.requests,
      calls: port.stats.calls,
      ...(rests === undefined ? {} : { rests }),
      ...(isLimited ? { budget: { requestsPerSecond, callsPerSecond, waiting, denied } } : {}),
      ...(trouble === undefined ? {} : { failing: trouble }),
    }
  })
}

/** The state of the account on the chain. */
export type Shown = Pick<LaneSnapshot, 'floor' | 'cursor' | 'head' | 'account'>

export function shownBy({ latest, pending, account }: LaneReading): Shown {
  const { hash, number } = latest.header
  const head = hash === null ? undefined : { number, hash }
  return { floor: latest.count, cursor: Math.max(latest.count, pending?.count ?? 0), head, account }
}

/** The snapshot of a standby: counts from the chain, because only the owner has the books. */
export function standbySnapshot(
  session: LaneSession,
  endpointPool: Pick<EndpointPool, 'endpoints' | 'tracker'>,
  effects: Shown,
  holds: readonly HoldReason[],
): LaneSnapshot {
  const own = [...session.transactions.values()]
  return {
    holder: false,
    chainId: session.key.chainId,
    address: session.key.address,
    floor: effects.floor,
    cursor: effects.cursor,
    coveredTo: effects.cursor,
    window: 0,
    holes: [],
    queued: own.filter(({ stage }) => stage === 'queued').length,
    inFlight: own.filter(isInFlightByStage).length,
    holds: [...holds],
    head: effects.head,
    balanceWei: undefined,
    account: effects.account,
    endpoints: endpointsOf(endpointPool),
    waiting: summaryOf(own.map((one) => [one, storedReason(one)])),
  }
}

/**
 * A nonce is in flight if it was taken and no sealed block has used it: one definition for `snapshot()`, `health()`,
 * `inFlight()` and the metrics. A nonce in a sealed block only waits for its depth.
 */
export function isInFlight(book: Book, nonce: number): boolean {
  return isOpen(book.get(nonce))
}

/** Counts the nonces in flight. The cost depends on the number of slots, not on the counts of a node (P9). */
export function countInFlight(book: Book): number {
  const { floor, supposedTo } = book
  const supposedFrom = Math.max(book.base, floor)
  // Nonces that only a count shows as used have no slots.
  let count = Math.max(0, supposedTo - supposedFrom)
  for (const slot of book.slots.values()) {
    if (slot.nonce >= supposedFrom && slot.nonce < supposedTo) count--
    if (slot.nonce >= floor && isOpen(slot)) count++
  }
  return count
}

function isOpen(slot: Slot | undefined): boolean {
  return slot?.state === 'reserved' || slot?.state === 'live' || slot?.state === 'outside'
}

/** The same for a standby, which knows the nonce and the stage from the store. */
export function isInFlightByStage(transaction: Transaction): boolean {
  const { nonce, stage, unresolved } = transaction
  return nonce !== undefined && !unresolved && !hasEnded(stage) && !hasReached(transaction, 'sealed')
}
