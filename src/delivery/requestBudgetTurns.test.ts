import { describe, expect, it, test } from 'vitest'
import { createRequestBudget, type Priority, type RequestBudget, type Ticket } from './requestBudget.js'

/** The order in which tickets for one call each are granted at once. */
function orderOf(
  budget: RequestBudget,
  priorities: readonly Priority[],
  nowMs = 0,
): (Priority | undefined)[] {
  for (const [id, priority] of priorities.entries()) budget.ask({ id, priority, calls: 1 })
  return budget.grants(nowMs).granted.map(({ id }) => priorities[id])
}

describe('the turns of a request budget', () => {
  it.each(['evidence', 'receipt'] as const)(
    'give %s the first one after ten blocks, whatever else waits',
    (rare) => {
      const budget = createRequestBudget()
      for (let block = 1; block < 10; block++) budget.block(0)
      expect(orderOf(budget, ['send', rare])).toEqual(['send', rare])
      budget.block(0)
      expect(orderOf(budget, ['send', rare])).toEqual([rare, 'send'])
    },
  )

  it('give a poll the first one at the moment of a block, and a block time after the last poll', () => {
    const budget = createRequestBudget()
    budget.block(0)
    expect(orderOf(budget, ['send', 'poll'], 0)).toEqual(['poll', 'send'])
    expect(orderOf(budget, ['send', 'poll'], 1_000)).toEqual(['send', 'poll'])
    expect(orderOf(budget, ['send', 'poll'], 2_999)).toEqual(['send', 'poll'])
    expect(orderOf(budget, ['send', 'poll'], 4_999)).toEqual(['poll', 'send'])
  })

  it.each([
    ['if none was seen', [], 2_000],
    ['that follow each other after a second', [5_000, 6_000], 1_000],
    ['that come together', [5_000, 5_999, 6_010], 2_000],
    ['if two followed each other sooner than others', [5_000, 8_000, 15_000, 19_000], 3_000],
    ['that are rare', [5_000, 45_000], 12_000],
  ])('give a poll the first one in the time between blocks %s', (_, blocksMs, blockMs) => {
    const budget = createRequestBudget()
    for (const ms of blocksMs) budget.block(ms)
    const polledMs = 50_000
    orderOf(budget, ['poll'], polledMs)
    expect(orderOf(budget, ['send', 'poll'], polledMs + blockMs - 1)).toEqual(['send', 'poll'])
    expect(orderOf(budget, ['send', 'poll'], polledMs + 2 * blockMs - 1)).toEqual(['poll', 'send'])
  })

  it('give evidence the first one even if the request before needed no ticket', () => {
    const budget = createRequestBudget()
    expect(budget.takeFree({ priority: 'send', calls: 1 }, 0)).toBe(true)
    for (let block = 0; block < 10; block++) budget.block(0)
    expect(orderOf(budget, ['send', 'evidence'])).toEqual(['evidence', 'send'])
  })

  it('give evidence the first one after ten blocks at a low rate, even right after a poll', () => {
    const budget = createRequestBudget({ callsPerSecond: 5 })
    expect(orderOf(budget, ['poll'], 0)).toEqual(['poll'])
    for (let block = 0; block < 10; block++) budget.block(1_000)
    expect(orderOf(budget, ['send', 'evidence'], 1_000)).toEqual(['evidence', 'send'])
  })

  it('give the highest priority one after each guaranteed request', () => {
    const budget = createRequestBudget()
    for (let block = 0; block < 10; block++) budget.block(0)
    const order = orderOf(budget, ['send', 'send', 'send', 'evidence', 'receipt'])
    expect(order).toEqual(['evidence', 'send', 'receipt', 'send', 'send'])
  })

  it('give a poll no first one if nothing waited before it, however much time has passed', () => {
    const budget = createRequestBudget()
    expect(budget.grants(0)).toEqual({ granted: [], wakeAtMs: undefined })
    expect(orderOf(budget, ['send', 'poll'], 60_000)).toEqual(['send', 'poll'])
  })

  it('alternate between polls and receipts', () => {
    const order = orderOf(createRequestBudget(), ['receipt', 'receipt', 'poll', 'poll'])
    expect(order).toEqual(['poll', 'receipt', 'poll', 'receipt'])
  })

  it('let polls follow each other if no receipt waits', () => {
    expect(orderOf(createRequestBudget(), ['poll', 'poll', 'poll'])).toEqual(['poll', 'poll', 'poll'])
  })
})

describe('the rate of a request budget', () => {
  it('is never concluded to be less than two requests, and five calls, per second', () => {
    const calls = createRequestBudget()
    calls.ended({ calls: 1, denied: 1, sentAtMs: 0, atMs: 50 })
    expect(calls.status(50)).toMatchObject({ callsPerSecond: 5, requestsPerSecond: undefined })
    const either = createRequestBudget()
    either.ended({ calls: 1, denied: 0, sentAtMs: 0, atMs: 50 })
    either.ended({ calls: 1, denied: 1, sentAtMs: 50, atMs: 100 })
    expect(either.status(100)).toMatchObject({ callsPerSecond: 5, requestsPerSecond: 2 })
  })
})

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
