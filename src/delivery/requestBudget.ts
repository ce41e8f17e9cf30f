import { type BudgetLimits, createRequestMeters, type RequestEnded } from './requestMeters.js'
import { createRequestTurns, type Ticket } from './requestTurns.js'

export type { BudgetLimits, RequestEnded } from './requestMeters.js'
export { PRIORITIES, type Priority, type Ticket } from './requestTurns.js'

export type Grants = {
  /** The requests to send now, in this order, with the number of calls for each. */
  readonly granted: readonly { readonly id: number; readonly calls: number }[]
  /** When the next ticket may have its turn; undefined if no ticket waits. */
  readonly wakeAtMs: number | undefined
}

export type BudgetStatus = {
  readonly requestsPerSecond: number | undefined
  readonly callsPerSecond: number | undefined
  /** No request is sent before this time, because the endpoint asked for the pause. */
  readonly blockedUntilMs: number | undefined
  readonly waiting: number
  readonly denied: number
}

/**
 * Limits the requests of all lanes, senders and pollers of a process to one endpoint. It is a token bucket
 * with two meters, since providers count requests or calls. It is pure: no clock, no timer. The shell calls
 * `ask` with a ticket for each request. It calls `grants` after each `ask` and each `ended`, and again at
 * `wakeAtMs`. It sends the granted requests, and reports the end of each.
 *
 * Nothing is limited until the endpoint objects, or a limit is given. Some requests are guaranteed. Polls get
 * one request per block, or one per block time if no block is seen, no matter how much is queued. While a
 * send waits, however, polls get at most an eighth of the endpoint's rate. Evidence and receipts get one
 * request in ten blocks. After each guaranteed request the highest priority has its turn: at the lowest rates
 * such a request takes most of a second, so a send that waited behind each would never leave.
 */
export type RequestBudget = {
  ask(ticket: Ticket): void
  /**
   * Returns true if the request may leave now without a ticket, because nothing is limited and no other
   * request waits: `ask` and `grants` would grant the same. Returns false if the request needs a ticket.
   */
  takeFree(asked: Omit<Ticket, 'id'>, nowMs: number): boolean
  withdraw(id: number): void
  grants(nowMs: number): Grants
  ended(request: RequestEnded): void
  /** A new block: a poll may go before its turn. */
  block(nowMs: number): void
  status(nowMs: number): BudgetStatus
}

/** The fraction of the endpoint's rate that polls may take before their turn. */
const POLL_SHARE = 1 / 8

export function createRequestBudget(limits: BudgetLimits = {}): RequestBudget {
  const meters = createRequestMeters(limits)
  const turns = createRequestTurns((calls, nowMs) => meters.requestMs(calls, nowMs) / POLL_SHARE)
  return {
    ask: turns.ask,
    takeFree({ priority, calls }, nowMs) {
      if (turns.waiting > 0 || !meters.isFree(nowMs)) return false
      meters.take(calls, nowMs)
      turns.tookFree(priority, nowMs)
      return true
    },
    withdraw: turns.withdraw,
    grants(nowMs) {
      const granted: { id: number; calls: number }[] = []
      for (let ticket = turns.next(nowMs); ticket !== undefined; ticket = turns.next(nowMs)) {
        const calls = meters.sizeOf(ticket.calls, ticket.together, nowMs)
        const atMs = meters.dueAt(calls, nowMs)
        if (atMs > nowMs) {
          meters.wanted(nowMs)
          return { granted, wakeAtMs: atMs }
        }
        meters.take(calls, nowMs)
        turns.granted(ticket, nowMs)
        granted.push({ id: ticket.id, calls })
      }
      return { granted, wakeAtMs: undefined }
    },
    ended: meters.ended,
    block: turns.block,
    status(nowMs) {
      const { blockedUntilMs, denied } = meters
      return {
        requestsPerSecond: finite(meters.requestsPerSecond(nowMs)),
        callsPerSecond: finite(meters.callsPerSecond(nowMs)),
        blockedUntilMs: blockedUntilMs > nowMs ? blockedUntilMs : undefined,
        waiting: turns.waiting,
        denied,
      }
    },
  }
}

const finite = (rate: number): number | undefined => (Number.isFinite(rate) ? rate : undefined)
