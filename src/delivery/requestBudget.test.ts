import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { runsOf } from '../../test/support/runsOf.js'
import { createProvider, type Provider, ROUND_TRIP_MS, saturate } from './provider.fixture.js'
import {
  createRequestBudget,
  PRIORITIES,
  type Priority,
  type RequestBudget,
  type Ticket,
} from './requestBudget.js'

const provider: fc.Arbitrary<Provider> = fc.record({
  perSecond: fc.integer({ min: 10, max: 200 }),
  counts: fc.constantFrom('calls', 'requests'),
  refuses: fc.constantFrom('whole', 'calls'),
  window: fc.constantFrom('fixed', 'sliding', 'saved'),
})

/** Grants at one time, by priority, for tickets in this order. */
function granted(budget: RequestBudget, nowMs: number, tickets: readonly Ticket[]): Priority[] {
  const { granted: all } = budget.grants(nowMs)
  return all.flatMap(({ id }) => tickets.filter((ticket) => ticket.id === id).map(({ priority }) => priority))
}

/** Requests a ticket from the budget, and remembers it. */
function asking(budget: RequestBudget) {
  const tickets: Ticket[] = []
  return {
    tickets: tickets as readonly Ticket[],
    ask(asked: Omit<Ticket, 'id'>): void {
      const ticket = { ...asked, id: tickets.length }
      tickets.push(ticket)
      budget.ask(ticket)
    },
  }
}

describe('a request budget', () => {
  it('limits nothing until the endpoint objects', () => {
    const budget = createRequestBudget()
    for (let id = 1; id <= 100; id++) budget.ask({ id, priority: 'send', calls: 1_000 })
    const { granted: all, wakeAtMs } = budget.grants(0)
    expect(all).toEqual(Array.from({ length: 100 }, (_, index) => ({ id: index + 1, calls: 1_000 })))
    expect(wakeAtMs).toBeUndefined()
    expect(budget.status(0)).toMatchObject({ requestsPerSecond: undefined, callsPerSecond: undefined })
  })

  it('uses four fifths of the units that passed in the last second as its rate', () => {
    const budget = createRequestBudget()
    budget.ended({ calls: 64, denied: 14, sentAtMs: 0, atMs: 50 })
    expect(budget.status(50).callsPerSecond).toBe(40)
    expect(budget.status(50).requestsPerSecond).toBeUndefined()
  })

  it('concludes nothing more from a request that had left before the last cut', () => {
    const budget = createRequestBudget()
    budget.ended({ calls: 64, denied: 14, sentAtMs: 0, atMs: 50 })
    budget.ended({ calls: 64, denied: 64, sentAtMs: 10, atMs: 1_100 })
    expect(budget.status(1_100).callsPerSecond).toBe(40)
  })

  it('raises the limit if more of the same second passes', () => {
    const budget = createRequestBudget()
    budget.ended({ calls: 64, denied: 14, sentAtMs: 0, atMs: 50 })
    budget.ended({ calls: 50, denied: 0, sentAtMs: 10, atMs: 60 })
    expect(budget.status(60).callsPerSecond).toBe(80)
  })

  it('sends nothing before the time that the endpoint named', () => {
    const budget = createRequestBudget()
    budget.ended({ calls: 1, denied: 1, sentAtMs: 0, atMs: 50, retryAfterMs: 3_000 })
    budget.ask({ id: 1, priority: 'repair', calls: 1 })
    expect(budget.grants(60)).toEqual({ granted: [], wakeAtMs: 3_050 })
    expect(budget.grants(3_050).granted).toEqual([{ id: 1, calls: 1 }])
  })

  it('serves the head of a lane first, then new sends, evidence, polls and receipts', () => {
    const budget = createRequestBudget({ callsPerSecond: 4 })
    const tickets = [...PRIORITIES].reverse().map((priority, id): Ticket => ({ id, priority, calls: 1 }))
    for (const ticket of tickets) budget.ask(ticket)
    const order = Array.from({ length: 5 }, (_, second) => granted(budget, second * 1_000, tickets)).flat()
    expect(order).toEqual(PRIORITIES)
  })

  it('grants one poll in each block, however many sends wait', () => {
    const budget = createRequestBudget({ callsPerSecond: 10 })
    const { tickets, ask } = asking(budget)
    for (let index = 0; index < 200; index++) ask({ priority: 'send', calls: 1 })
    const order: Priority[] = []
    for (let nowMs = 0; nowMs < 8_000; nowMs += 100) {
      if (nowMs % 2_000 === 0) {
        budget.block(nowMs)
        for (let times = 0; times < 2; times++) ask({ priority: 'poll', calls: 1 })
      }
      order.push(...granted(budget, nowMs, tickets))
    }
    expect(order.filter((priority) => priority === 'poll')).toHaveLength(4)
    expect(order.length).toBeGreaterThan(70)
  })

  it.each(['repair', 'send', 'evidence'] as const)(
    'grants a poll per block time if no block is seen, however much of %s waits',
    (priority) => {
      for (const [gapMs, blockMs] of [
        [undefined, 2_000],
        [12_000, 12_000],
        [1_000, 1_000],
      ] as const) {
        const budget = createRequestBudget({ callsPerSecond: 32 })
        const startMs = gapMs ?? 0
        for (let nowMs = 0; gapMs !== undefined && nowMs <= gapMs; nowMs += gapMs) budget.block(nowMs)
        const { tickets, ask } = asking(budget)
        for (let index = 0; index < 2_000; index++) ask({ priority, calls: 1 })
        ask({ priority: 'poll', calls: 4, together: true })
        const polledMs: number[] = []
        for (let nowMs = startMs; nowMs < startMs + 60_000; nowMs += 50) {
          if (!granted(budget, nowMs, tickets).includes('poll')) continue
          polledMs.push(nowMs)
          ask({ priority: 'poll', calls: 4, together: true })
        }
        const gaps = polledMs.slice(1).map((ms, index) => ms - (polledMs[index] ?? 0))
        expect(polledMs.length).toBeGreaterThanOrEqual(Math.floor(60_000 / (blockMs + 1_000)))
        expect(Math.max(...gaps)).toBeLessThanOrEqual(blockMs + 1_000)
        expect(Math.min(...gaps)).toBeGreaterThanOrEqual(blockMs)
      }
    },
  )

  it.each(['repair', 'send'] as const)(
    'keeps seven eighths of a low rate for %s, however often a block is seen',
    (priority) => {
      for (const limits of [{ callsPerSecond: 5 }, { requestsPerSecond: 1 }]) {
        const budget = createRequestBudget(limits)
        const { tickets, ask } = asking(budget)
        const polledMs: number[] = []
        ask({ priority: 'poll', calls: 4, together: true })
        for (let index = 0; index < 400; index++) ask({ priority, calls: 1 })
        for (let nowMs = 0; nowMs < 60_000; nowMs += 50) {
          if (nowMs % 1_000 === 0) budget.block(nowMs)
          if (!granted(budget, nowMs, tickets).includes('poll')) continue
          polledMs.push(nowMs)
          ask({ priority: 'poll', calls: 4, together: true })
        }
        const gaps = polledMs.slice(1).map((ms, index) => ms - (polledMs[index] ?? 0))
        expect(Math.min(...gaps)).toBeGreaterThanOrEqual(6_400)
        // And the polls continue.
        expect(Math.max(...gaps)).toBeLessThanOrEqual(10_000)
      }
    },
  )

  it('grants a poll per block at a low rate next to evidence, which has its turn after each', () => {
    const budget = createRequestBudget({ callsPerSecond: 5 })
    const { tickets, ask } = asking(budget)
    ask({ priority: 'poll', calls: 5, together: true })
    for (let index = 0; index < 400; index++) ask({ priority: 'evidence', calls: 2 })
    const order: Priority[] = []
    for (let nowMs = 0; nowMs < 60_000; nowMs += 50) {
      if (nowMs % 2_000 === 0) budget.block(nowMs)
      const now = granted(budget, nowMs, tickets)
      order.push(...now)
      if (now.includes('poll')) ask({ priority: 'poll', calls: 5, together: true })
    }
    expect(order.filter((priority) => priority === 'poll').length).toBeGreaterThanOrEqual(28)
    expect(order.filter((priority) => priority === 'evidence').length).toBeGreaterThanOrEqual(28)
  })

  it('never exceeds the given rates, and is not denied then', () => {
    const limits = { callsPerSecond: 25, requestsPerSecond: 5 }
    for (const counts of ['calls', 'requests'] as const) {
      const perSecond = counts === 'calls' ? 25 : 5
      const run = saturate(createProvider({ perSecond, counts, refuses: 'whole', window: 'sliding' }), {
        amount: 250,
        batch: 64,
        limits,
      })
      expect(run.denied).toBe(0)
      expect(run.tookMs).toBeLessThan(12_500)
    }
  })

  it('approaches any limit, and is rarely denied', () => {
    fc.assert(
      fc.property(provider, fc.constantFrom(1, 8, 64), (options, batch) => {
        const { perSecond, counts } = options
        // Twenty seconds at the limit, so that the cost of the search shows but does not dominate.
        const units = 20 * perSecond
        const amount = counts === 'calls' ? units : units * batch
        const { tookMs, requests, denied } = saturate(createProvider(options), { amount, batch })
        const openMax = (2 * batch * 1_000) / ROUND_TRIP_MS
        const fastestMs = Math.max(20_000, (1_000 * amount) / openMax)
        expect(tookMs).toBeLessThanOrEqual(1.3 * fastestMs + 3_000)
        expect(denied).toBeLessThanOrEqual(0.06 * requests + 6)
      }),
      { numRuns: runsOf(300) },
    )
  })

  it.each([25, 40, 50, 75, 100])(
    'finds in time how much a second allows if little was requested before: %i',
    (perSecond) => {
      const first = [4, 1, 8, 8, 1]
      const endpoint = createProvider({ perSecond, counts: 'calls', refuses: 'whole', window: 'saved' })
      const { tookMs, denied } = saturate(endpoint, {
        amount: 200,
        batch: 100,
        first,
        roundTripMs: 5,
      })
      expect(tookMs).toBeLessThanOrEqual((1.2 * 200 * 1_000) / perSecond)
      // One objection may be a stray one: the second one counts, and two requests are on their way.
      expect(denied).toBeLessThanOrEqual(4)
    },
  )

  it('grows back after a temporary objection', () => {
    const budget = createRequestBudget()
    budget.ended({ calls: 10, denied: 5, sentAtMs: 0, atMs: 50 })
    let calls = 0
    for (let nowMs = 60; nowMs < 120_000; nowMs += 10) {
      budget.ask({ id: nowMs, priority: 'send', calls: 100 })
      for (const grant of budget.grants(nowMs).granted) {
        calls += grant.calls
        budget.ended({ calls: grant.calls, denied: 0, sentAtMs: nowMs, atMs: nowMs })
      }
    }
    expect(budget.status(120_000).callsPerSecond).toBeUndefined()
    expect(calls).toBeGreaterThan(1_000)
  })
})

describe('a request without a ticket', () => {
  type Step = {
    readonly do: 'ask' | 'block' | 'deny' | 'pass'
    readonly priority: Priority
    readonly calls: number
    readonly afterMs: number
  }
  const step: fc.Arbitrary<Step> = fc.record({
    do: fc.constantFrom('ask', 'ask', 'ask', 'block', 'deny', 'pass'),
    priority: fc.constantFrom(...PRIORITIES),
    calls: fc.integer({ min: 1, max: 40 }),
    afterMs: fc.integer({ min: 0, max: 400 }),
  })

  /** The calls that are granted at each step. */
  function grantsOf(budget: RequestBudget, steps: readonly Step[], isFree: boolean) {
    let nowMs = 0
    return steps.map((each, id) => {
      nowMs += each.afterMs
      const { calls, priority } = each
      if (each.do === 'block') budget.block(nowMs)
      const ended = { calls, sentAtMs: nowMs, atMs: nowMs }
      if (each.do === 'deny') budget.ended({ ...ended, denied: calls })
      if (each.do === 'pass') budget.ended({ ...ended, denied: 0 })
      if (each.do === 'ask' && isFree && budget.takeFree({ priority, calls }, nowMs))
        return { granted: [{ id, calls }], status: budget.status(nowMs) }
      if (each.do === 'ask') budget.ask({ id, priority, calls })
      return { granted: budget.grants(nowMs).granted, status: budget.status(nowMs) }
    })
  }

  it('leaves whenever a ticket would be granted at once, and counts like that', () => {
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 60 }),
        fc.option(fc.integer({ min: 1, max: 50 }), { nil: undefined }),
        (steps, callsPerSecond) => {
          const budget = () => createRequestBudget({ callsPerSecond })
          expect(grantsOf(budget(), steps, true)).toEqual(grantsOf(budget(), steps, false))
        },
      ),
    )
  })

  it('does not leave if another waits, a limit was given, or the endpoint objected', () => {
    const asked = { priority: 'send', calls: 1 } as const
    expect(createRequestBudget().takeFree(asked, 0)).toBe(true)
    expect(createRequestBudget({ requestsPerSecond: 10 }).takeFree(asked, 0)).toBe(false)
    const waiting = createRequestBudget()
    waiting.ask({ id: 1, ...asked })
    expect(waiting.takeFree(asked, 0)).toBe(false)
    const denied = createRequestBudget()
    denied.ended({ calls: 1, denied: 1, sentAtMs: 0, atMs: 0, retryAfterMs: 5_000 })
    expect(denied.takeFree(asked, 0)).toBe(false)
  })
})
