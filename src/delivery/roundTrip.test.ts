import { describe, expect, it } from 'vitest'
import { createRoundTrip } from './roundTrip.js'

describe('the round trip', () => {
  it('is a second until something was measured', () => {
    const trip = createRoundTrip()
    expect(trip.ms).toBe(0)
    expect(trip.timeoutMs(1)).toBe(1_000)
  })

  it('lets a request take half as long again as the others, where those took the same time', () => {
    const trip = createRoundTrip()
    for (let request = 0; request < 50; request++) trip.answered(1, 100)
    expect(trip.ms).toBeCloseTo(100, 0)
    expect(trip.timeoutMs(1)).toBeGreaterThan(140)
    expect(trip.timeoutMs(1)).toBeLessThan(170)
  })

  it('gives more time to larger requests, as far as those took longer', () => {
    const trip = createRoundTrip()
    for (let request = 0; request < 50; request++) {
      trip.answered(1, 20)
      trip.answered(1_000, 220)
    }
    expect(trip.timeoutMs(1_000)).toBeGreaterThan(220)
    expect(trip.ms).toBeLessThan(40)
  })

  it('stays within its bounds', () => {
    const trip = createRoundTrip()
    for (let request = 0; request < 50; request++) trip.answered(1, 0.1)
    expect(trip.timeoutMs(1)).toBe(50)
    for (let request = 0; request < 50; request++) trip.answered(1, 60_000)
    expect(trip.timeoutMs(1)).toBe(10_000)
  })
})
