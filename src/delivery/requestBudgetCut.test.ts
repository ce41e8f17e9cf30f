import { describe, expect, it } from 'vitest'
import { type BudgetLimits, createRequestBudget, type RequestBudget } from './requestBudget.js'

/** A request whose calls all passed. */
const passed = (budget: RequestBudget, calls: number, atMs: number) =>
  budget.ended({ calls, denied: 0, sentAtMs: atMs, atMs })

/** The rates after a request of which this many calls were denied at 2,000 ms. */
function denied(budget: RequestBudget, calls: number, count: number) {
  budget.ended({ calls, denied: count, sentAtMs: 2_000, atMs: 2_000 })
  const { callsPerSecond, requestsPerSecond } = budget.status(2_000)
  return { callsPerSecond, requestsPerSecond }
}

describe('an objection', () => {
  it('to a whole batch after which nothing passed leaves half of its calls a second', () => {
    const rates = denied(createRequestBudget(), 64, 64)
    expect(rates).toEqual({ callsPerSecond: 32, requestsPerSecond: undefined })
  })

  it('to a part of a request concerns its calls, however near the limit of requests is', () => {
    const rates = denied(createRequestBudget({ requestsPerSecond: 10 }), 64, 14)
    expect(rates).toEqual({ callsPerSecond: 40, requestsPerSecond: 10 })
  })

  it.each<[BudgetLimits, object]>([
    [{ requestsPerSecond: 10 }, { callsPerSecond: undefined, requestsPerSecond: 2 }],
    [{ callsPerSecond: 100 }, { callsPerSecond: 32, requestsPerSecond: undefined }],
  ])('to a whole request lowers only the rate that was near its limit: %o', (limits, rates) => {
    expect(denied(createRequestBudget(limits), 64, 64)).toEqual(rates)
  })

  it('to a single call lowers both rates, since it may be either, and requests hold single calls', () => {
    const single = createRequestBudget()
    passed(single, 1, 2_000)
    expect(denied(single, 1, 1)).toEqual({ callsPerSecond: 5, requestsPerSecond: 2 })
    const mixed = createRequestBudget()
    for (const calls of [1, 2]) passed(mixed, calls, 2_000)
    expect(denied(mixed, 1, 1)).toEqual({ callsPerSecond: 5, requestsPerSecond: 2 })
  })

  it('to a single call lowers only the rate of calls if batches passed', () => {
    const budget = createRequestBudget()
    passed(budget, 2, 2_000)
    expect(denied(budget, 1, 1)).toEqual({ callsPerSecond: 5, requestsPerSecond: undefined })
  })

  it('to a batch lowers only the rate of calls if single calls passed', () => {
    const budget = createRequestBudget()
    passed(budget, 1, 2_000)
    expect(denied(budget, 8, 8)).toEqual({ callsPerSecond: 5, requestsPerSecond: undefined })
  })

  it('to a single call lowers only the rate of requests if far more calls passed in an earlier second', () => {
    const budget = createRequestBudget()
    passed(budget, 1_000, 0)
    for (let request = 0; request < 10; request++) passed(budget, 1, 2_000)
    expect(denied(budget, 1, 1)).toEqual({ callsPerSecond: undefined, requestsPerSecond: 8 })
  })

  it('with nothing passing is followed by a pause, which doubles each time up to fifteen seconds', () => {
    const budget = createRequestBudget()
    const pausesMs: number[] = []
    const deny = (atMs: number) => {
      budget.ended({ calls: 1, denied: 1, sentAtMs: atMs, atMs })
      const { blockedUntilMs = atMs } = budget.status(atMs)
      pausesMs.push(blockedUntilMs - atMs)
      return blockedUntilMs
    }
    let nowMs = 0
    for (let times = 0; times < 8; times++) nowMs = deny(nowMs)
    expect(pausesMs).toEqual([250, 500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000])
    expect(budget.status(nowMs)).toMatchObject({ denied: 8, blockedUntilMs: undefined })
    // A passing request ends the long pauses, and the next one is the shortest again.
    passed(budget, 1, nowMs)
    deny(nowMs + 10)
    deny(nowMs + 2_000)
    expect(pausesMs.slice(8)).toEqual([100, 250])
  })

  it.each([
    ['a whole request lets another one leave in the same second', 1, 510],
    ['a part of a request does not', 2, 1_000],
  ])('to %s', (_, calls, untilMs) => {
    const budget = createRequestBudget({ requestsPerSecond: 2 })
    for (const id of [1, 2]) budget.ask({ id, priority: 'send', calls })
    expect(budget.grants(0).granted).toHaveLength(2)
    budget.ended({ calls, denied: 0, sentAtMs: 0, atMs: 10 })
    budget.ended({ calls, denied: 1, sentAtMs: 0, atMs: 10 })
    budget.ask({ id: 3, priority: 'send', calls: 1 })
    expect(budget.grants(10).wakeAtMs).toBe(untilMs)
  })

  it('lowers the rate again if its request left at the moment of the last objection', () => {
    const budget = createRequestBudget()
    budget.ended({ calls: 64, denied: 14, sentAtMs: 0, atMs: 50 })
    budget.ended({ calls: 64, denied: 64, sentAtMs: 50, atMs: 1_200 })
    expect(budget.status(1_200).callsPerSecond).toBe(32)
  })

  it('with a time to wait, however short, is followed by no other pause', () => {
    const budget = createRequestBudget()
    budget.ended({ calls: 1, denied: 1, sentAtMs: 0, atMs: 0, retryAfterMs: 100 })
    expect(budget.status(0).blockedUntilMs).toBe(100)
    budget.ended({ calls: 1, denied: 1, sentAtMs: 100, atMs: 150 })
    expect(budget.status(150).blockedUntilMs).toBe(400)
  })

  it('with a time to wait stays in effect until then, although nothing limits the rate any more', () => {
    const budget = createRequestBudget()
    budget.ended({ calls: 1, denied: 1, sentAtMs: 0, atMs: 0, retryAfterMs: 300_000 })
    budget.ask({ id: 1, priority: 'send', calls: 1 })
    for (let nowMs = 0; nowMs < 250_000; nowMs += 500) expect(budget.grants(nowMs).granted).toEqual([])
    budget.withdraw(1)
    expect(budget.status(250_000)).toMatchObject({ callsPerSecond: undefined, blockedUntilMs: 300_000 })
    const asked = { priority: 'send', calls: 1 } as const
    expect(budget.takeFree(asked, 299_999)).toBe(false)
    expect(budget.takeFree(asked, 300_000)).toBe(true)
  })
})

describe('a ticket that is withdrawn', () => {
  it('is not granted, and waits no more', () => {
    const budget = createRequestBudget()
    for (const id of [1, 2, 3]) budget.ask({ id, priority: 'send', calls: 1 })
    for (const id of [4, 5]) budget.ask({ id, priority: 'poll', calls: 1 })
    for (const id of [2, 4, 7]) budget.withdraw(id)
    expect(budget.status(0).waiting).toBe(3)
    expect(budget.grants(0).granted.map(({ id }) => id)).toEqual([1, 3, 5])
    expect(budget.status(0).waiting).toBe(0)
  })
})
