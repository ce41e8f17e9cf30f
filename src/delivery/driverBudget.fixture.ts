import type { Delivery, DeliveryAction } from './delivery.js'
import type { Network, Reply } from './network.fixture.js'
import { createRequestBudget, type Priority } from './requestBudget.js'
import type { Demand } from './select.js'

const PRIORITY: Record<Demand['kind'], Priority> = {
  repair: 'repair',
  new: 'send',
  sync: 'send',
  count: 'evidence',
}

/**
 * A request budget with one delivery. It holds one ticket at a time, for the present demand of the delivery.
 */
export function createBudgeted(delivery: Delivery, network: Network, transactions: number) {
  const budget = createRequestBudget()
  let ticket: { readonly id: number; readonly demand: Demand } | undefined
  let tickets = 0
  // State of the present search for the next action.
  let isAsked = false
  let wakeAtMs: number | undefined

  function withdraw(): void {
    if (ticket) budget.withdraw(ticket.id)
    ticket = undefined
  }

  function grant(demand: Demand): number {
    if (ticket && (ticket.demand.kind !== demand.kind || ticket.demand.calls !== demand.calls)) withdraw()
    if (ticket === undefined) {
      ticket = { id: ++tickets, demand }
      budget.ask({ id: ticket.id, priority: PRIORITY[demand.kind], calls: demand.calls })
    }
    const grants = budget.grants(network.nowMs)
    if (grants.granted.length > 0) ticket = undefined
    isAsked = true
    wakeAtMs = grants.wakeAtMs
    return grants.granted[0]?.calls ?? 0
  }

  return {
    /** The next action within the budget. */
    next(): DeliveryAction {
      isAsked = false
      wakeAtMs = undefined
      const action = delivery.next({ nowMs: network.nowMs, below: transactions, grant })
      if (!isAsked) withdraw()
      return action.do === 'wait' ? { do: 'wait', untilMs: least(action.untilMs, wakeAtMs) } : action
    },
    /** Reports to the budget how many calls the endpoint's rate limit denied. */
    noteRate(sentAtMs: number, calls: number, reply: Reply): void {
      if (reply.end !== 'answers') return
      const isCountDenied = calls > reply.answers.length && reply.count === undefined
      const denied = reply.answers.filter(({ kind }) => kind === 'limited').length + Number(isCountDenied)
      budget.ended({ calls, denied, sentAtMs, atMs: network.nowMs })
    },
  }
}

function least(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : Math.min(a, b)
}
