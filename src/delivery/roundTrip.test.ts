import { describe, expect, it } from 'vitest'
import { createRoundTrip } from './endpointLimits.js'

describe('the round trip', () => {
  it('is a second until the first measurement', () => {
    const trip = createRoundTrip()
    expect(trip.ms).toBe(0)
    expect(trip.timeoutMs(1)).toBe(1_000)
  })

  it('allows a request half as long again as the others, if those took the same time', () => {
    const trip = createRoundTrip()
    for (let request = 0; request < 50; request++) trip.answered(1, 100)
    expect(trip.ms).toBeCloseTo(100, 0)
    expect(trip.timeoutMs(1)).toBeGreaterThan(140)
    expect(trip.timeoutMs(1)).toBeLessThan(170)
  })

  it('allows more time for larger requests, if those took longer', () => {
    const trip = createRoundTrip()
    for (let request = 0; request < 50; request++) {
      trip.answered(1, 20)
      trip.answered(1_000, 220)
    }
    expect(trip.timeoutMs(1_000)).toBeGreaterThan(220)
    expect(trip.ms).toBeLessThan(40)
  })

  it('follows RFC 6298, with separate times: large requests measure the call, small ones the way', () => {
    const trip = createRoundTrip()
    const measured = (calls: number, tookMs: number) => {
      trip.answered(calls, tookMs)
      return [trip.ms, trip.timeoutMs(1), trip.timeoutMs(100)]
    }
    expect(measured(1, 100)).toEqual([100, 350, 350])
    expect(measured(1, 140)).toEqual([105, 347.5, 347.5])
    // A hundred calls take an eighth of a millisecond each.
    expect(measured(100, 205)).toEqual([105, 400.1875, 418.75])
    // So fast that the way is shorter than it seemed.
    expect(measured(100, 55)[0]).toBe(97.1875)
    // As fast as the way: its calls took no time.
    const { ms } = trip
    expect(measured(100, ms)[0]).toBe(ms)
    expect(trip.timeoutMs(101) - trip.timeoutMs(1)).toBeCloseTo(1.5 * 100 * 0.109375, 9)
    expect(measured(2, ms + 8)[0]).toBeCloseTo(ms + (8 - 2 * 0.109375) / 8, 9)
  })

  it('is never negative, however fast a large request returns after slow ones', () => {
    const trip = createRoundTrip()
    trip.answered(1, 10)
    for (let request = 0; request < 50; request++) trip.answered(100, 1_000)
    trip.answered(1_000, 5)
    expect(trip.ms).toBe(0)
    for (let request = 0; request < 50; request++) trip.answered(1, 20)
    expect(trip.ms).toBeGreaterThan(5)
    expect(trip.ms).toBeLessThan(20)
  })

  it('stays within its bounds', () => {
    const trip = createRoundTrip()
    for (let request = 0; request < 50; request++) trip.answered(1, 0.1)
    expect(trip.timeoutMs(1)).toBe(50)
    for (let request = 0; request < 50; request++) trip.answered(1, 60_000)
    expect(trip.timeoutMs(1)).toBe(10_000)
  })
})
