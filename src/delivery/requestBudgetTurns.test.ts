import { describe, expect, it } from 'vitest'
import { createRequestBudget, type Priority, type RequestBudget } from './requestBudget.js'

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
  it('give evidence the first one after ten blocks, whatever waits', () => {
    const budget = createRequestBudget()
    for (let block = 0; block < 10; block++) budget.block(0)
    expect(orderOf(budget, ['send', 'evidence'])).toEqual(['evidence', 'send'])
  })

  it('give a poll the first one in the moment of a block, and in the time of a block after the last poll', () => {
    const budget = createRequestBudget()
    budget.block(0)
    expect(orderOf(budget, ['send', 'poll'], 0)).toEqual(['poll', 'send'])
    expect(orderOf(budget, ['send', 'poll'], 1_000)).toEqual(['send', 'poll'])
    expect(orderOf(budget, ['send', 'poll'], 2_999)).toEqual(['send', 'poll'])
    expect(orderOf(budget, ['send', 'poll'], 4_999)).toEqual(['poll', 'send'])
  })

  it('let polls follow each other where no receipt waits', () => {
    expect(orderOf(createRequestBudget(), ['poll', 'poll', 'poll'])).toEqual(['poll', 'poll', 'poll'])
  })
})

describe('the rate of a request budget', () => {
  it('is never concluded to be less than two requests, and five calls, in a second', () => {
    const calls = createRequestBudget()
    calls.ended({ calls: 1, denied: 1, sentAtMs: 0, atMs: 50 })
    expect(calls.status(50)).toMatchObject({ callsPerSecond: 5, requestsPerSecond: undefined })
    const either = createRequestBudget()
    either.ended({ calls: 1, denied: 0, sentAtMs: 0, atMs: 50 })
    either.ended({ calls: 1, denied: 1, sentAtMs: 50, atMs: 100 })
    expect(either.status(100)).toMatchObject({ callsPerSecond: 5, requestsPerSecond: 2 })
  })
})
