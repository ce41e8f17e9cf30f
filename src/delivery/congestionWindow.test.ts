import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type CongestionWindow, createCongestionWindow } from './congestionWindow.js'

const BATCH = 10

/** Fills the window from this nonce on, and has all of it acknowledged. Returns where it ends. */
function fillOnce(window: CongestionWindow, from: number): number {
  const to = from + window.size
  window.filled(to)
  window.acknowledged(from, to, BATCH)
  return to
}

function sizesOf(window: CongestionWindow, rounds: number, from = 0): number[] {
  let at = from
  return Array.from({ length: rounds }, () => {
    at = fillOnce(window, at)
    return window.size
  })
}

describe('the congestion window', () => {
  it('doubles with each full window that is acknowledged, up to its maximum', () => {
    const window = createCongestionWindow({ start: 64, max: 1_000 })
    expect(sizesOf(window, 5)).toEqual([128, 256, 512, 1_000, 1_000])
  })

  it('halves on a loss, doubles up to the size of that loss, then grows by a batch a window', () => {
    const window = createCongestionWindow({ start: 64, max: 1_000 })
    window.loss(0, 64)
    expect(window.size).toBe(32)
    expect(sizesOf(window, 4, 64)).toEqual([64, 74, 84, 94])
  })

  it('halves once for all that was unacknowledged at the loss', () => {
    const window = createCongestionWindow({ start: 64, max: 1_000 })
    window.loss(0, 64)
    window.loss(10, 70)
    window.loss(63, 80)
    expect(window.size).toBe(32)
    window.loss(64, 80)
    expect(window.size).toBe(16)
  })

  it('learns nothing from a window that was never full, or from what is acknowledged again', () => {
    const window = createCongestionWindow({ start: 64, max: 1_000 })
    window.acknowledged(0, 50, BATCH)
    expect(window.size).toBe(64)
    fillOnce(window, 50)
    expect(window.size).toBe(128)
    window.acknowledged(50, 114, BATCH)
    expect(window.size).toBe(128)
  })

  it('remembers the largest full window without a loss', () => {
    const window = createCongestionWindow({ start: 64, max: 1_000 })
    sizesOf(window, 3)
    expect(window.proven).toBe(256)
    window.loss(448, 960)
    expect(window.proven).toBe(256)
  })

  it('stays between 1 and its maximum, whatever happens', () => {
    const event = fc.oneof(
      fc.record({ do: fc.constant('fill' as const) }),
      fc.record({
        do: fc.constant('acknowledge' as const),
        part: fc.double({ min: 0, max: 1, noNaN: true }),
      }),
      fc.record({ do: fc.constant('lose' as const) }),
    )
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 100 }),
        fc.integer({ min: 1, max: 500 }),
        fc.array(event),
        (start, max, events) => {
          const window = createCongestionWindow({ start, max })
          let acknowledged = 0
          let sent = 0
          for (const each of events) {
            if (each.do === 'fill') {
              sent = Math.max(sent, acknowledged + window.size)
              window.filled(sent)
            } else if (each.do === 'lose') window.loss(acknowledged, sent)
            else {
              const to = acknowledged + Math.floor((sent - acknowledged) * each.part)
              window.acknowledged(acknowledged, to, BATCH)
              acknowledged = to
            }
            expect(window.size).toBeGreaterThanOrEqual(1)
            expect(window.size).toBeLessThanOrEqual(max)
          }
        },
      ),
    )
  })
})
