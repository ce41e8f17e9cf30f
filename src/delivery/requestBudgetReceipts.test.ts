import { expect, test } from 'vitest'
import { createRequestBudget, type Priority, type Ticket } from './requestBudget.js'

test('polls and receipts take turns, since callers wait for receipts, and polls never end', () => {
  const budget = createRequestBudget({ callsPerSecond: 4 })
  const tickets = new Map<number, Priority>()
  const ask = (priority: Priority) => {
    const ticket: Ticket = { id: tickets.size, priority, calls: 1 }
    tickets.set(ticket.id, priority)
    budget.ask(ticket)
  }
  for (let index = 0; index < 8; index++) ask('receipt')
  const order: (Priority | undefined)[] = []
  for (let nowMs = 0; nowMs < 6_000; nowMs += 250) {
    ask('poll')
    order.push(...budget.grants(nowMs).granted.map(({ id }) => tickets.get(id)))
  }
  expect(order.slice(0, 17).filter((priority) => priority === 'receipt').length).toBeGreaterThanOrEqual(7)
  expect(order.filter((priority) => priority === 'receipt')).toHaveLength(8)
})
