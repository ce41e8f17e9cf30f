import { describe, expect, test } from 'vitest'
import { createVirtualClock } from '../../../test/sim/virtualClock.js'
import { defaultLimits } from '../../validate/validateLane.js'
import { createShared } from '../environment.js'
import { createRequestGate, type Denial, type Grant, holdGate } from './requestGate.js'

function open(limits: { requestsPerSecond?: number; callsPerSecond?: number } = {}) {
  const clock = createVirtualClock()
  const gate = createRequestGate({ clock, limits, restMsMax: 60_000 })
  const denied = (denial: Partial<Denial>, calls = 1) =>
    gate.ended({
      calls,
      sentAtMs: clock.now(),
      denial: { calls, retryAfterMs: undefined, said: 'slow down', ...denial },
    })
  return { clock, gate, denied }
}

describe('the request budget of a URL', () => {
  test('grants at once, and sets no timer, while nothing limits it', () => {
    const { clock, gate } = open()
    const granted: Grant[] = []
    for (let index = 0; index < 100; index++)
      gate.ask({ priority: 'poll', calls: 50 }, (grant) => granted.push(grant))
    expect(granted.map(({ calls }) => calls)).toEqual(new Array(100).fill(50))
    expect(clock.pendingTimers).toBe(0)
  })

  test('grants waiting calls by itself as time passes, in the order of their priorities', async () => {
    const { clock, gate } = open({ callsPerSecond: 4 })
    const order: string[] = []
    for (const priority of ['receipt', 'poll', 'send', 'repair'] as const)
      gate.ask({ priority, calls: 3 }, () => void order.push(priority))
    await clock.advance(4_000)
    expect(order).toEqual(['receipt', 'repair', 'send', 'poll'])
    expect(clock.pendingTimers).toBe(0)
  })

  test('forgets a withdrawn request and its timer', () => {
    const { clock, gate } = open({ requestsPerSecond: 1 })
    const granted: number[] = []
    gate.ask({ priority: 'send', calls: 1 }, () => void granted.push(1))
    gate.ask({ priority: 'send', calls: 1 }, () => void granted.push(2))()
    expect(granted).toEqual([1])
    expect(clock.pendingTimers).toBe(0)
  })

  test('pauses for as long as the endpoint asks, within the bound, and reports the reason', async () => {
    const { clock, gate, denied } = open()
    const reported: string[] = []
    gate.onRest((reason) => void reported.push(reason))
    denied({ retryAfterMs: 86_400_000 })
    expect(gate.isBlocked).toBe(true)
    expect(gate.restReason).toBe(reported[0])
    expect(reported).toEqual([
      'The endpoint says that it is asked too often, and is left alone for 60 s. It asked for 86400 s, which is more than limits.restMsMax. It said: slow down',
    ])
    let granted = 0
    gate.ask({ priority: 'send', calls: 1 }, () => granted++)
    await clock.advance(59_000)
    expect(granted).toBe(0)
    await clock.advance(2_000)
    expect([granted, gate.restReason]).toEqual([1, undefined])
  })

  test('reports a run of denials once, and the next run again', async () => {
    const { clock, gate, denied } = open()
    let reported = 0
    gate.onRest(() => reported++)
    for (let round = 1; round <= 2; round++) {
      for (let times = 0; times < 5; times++) {
        denied({ retryAfterMs: 100 })
        await clock.advance(200)
        gate.ended({ calls: 1, sentAtMs: clock.now(), denial: undefined })
      }
      expect(reported).toBe(round)
      await clock.advance(6_000)
    }
  })
})

describe('one budget', () => {
  const environment = () =>
    ({ clock: createVirtualClock(), random: () => 0, shared: createShared() }) as never

  test('serves all users of one URL with the same limits, as long as one user remains', () => {
    const own = environment()
    const [first, second] = [1, 2].map(() => holdGate(own, defaultLimits, 'http://a'))
    expect(first?.gate).toBe(second?.gate)
    expect(holdGate(own, defaultLimits, 'http://b').gate).not.toBe(first?.gate)
    expect(holdGate(own, { ...defaultLimits, callsPerSecond: 5 }, 'http://a').gate).not.toBe(first?.gate)
    first?.release()
    expect(holdGate(own, defaultLimits, 'http://a').gate).toBe(second?.gate)
  })

  test('is forgotten with the last user', () => {
    const own = environment()
    const first = holdGate(own, defaultLimits, 'http://a')
    first.release()
    expect(holdGate(own, defaultLimits, 'http://a').gate).not.toBe(first.gate)
  })

  test('is not shared by transports without a URL', () => {
    const own = environment()
    expect(holdGate(own, defaultLimits, undefined).gate).not.toBe(
      holdGate(own, defaultLimits, undefined).gate,
    )
  })
})
