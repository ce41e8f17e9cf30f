import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type CongestionWindow, createCongestionWindow } from './endpointLimits.js'

const BATCH = 10

/** Fills the window from this nonce on and acknowledges all of it. Returns the end of the window. */
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

  it('halves once for all nonces that were unacknowledged at the loss', () => {
    const window = createCongestionWindow({ start: 64, max: 1_000 })
    window.loss(0, 64)
    window.loss(10, 70)
    window.loss(63, 80)
    expect(window.size).toBe(32)
    window.loss(64, 80)
    expect(window.size).toBe(16)
  })

  it('learns nothing from a window that was never full, or from a repeated acknowledgement', () => {
    const window = createCongestionWindow({ start: 64, max: 1_000 })
    window.acknowledged(0, 50, BATCH)
    expect(window.size).toBe(64)
    fillOnce(window, 50)
    expect(window.size).toBe(128)
    window.acknowledged(50, 114, BATCH)
    expect(window.size).toBe(128)
  })

  it('proves nothing by a repeated acknowledgement after a reorg, although the window is full this time', () => {
    const window = createCongestionWindow({ start: 64, max: 1_000 })
    window.acknowledged(0, 64, BATCH)
    window.filled(64)
    window.acknowledged(0, 64, BATCH)
    expect([window.size, window.proven]).toEqual([64, 0])
  })

  it('remembers the largest full window without a loss', () => {
    const window = createCongestionWindow({ start: 64, max: 1_000 })
    sizesOf(window, 3)
    expect(window.proven).toBe(256)
    window.loss(448, 960)
    expect(window.proven).toBe(256)
  })

  it('is proven for the nonces that were unacknowledged at once, when all are acknowledged', () => {
    const window = createCongestionWindow({ start: 64, max: 1_000 })
    window.filled(64)
    window.filled(32)
    window.acknowledged(0, 40, BATCH)
    expect([window.size, window.proven]).toEqual([104, 0])
    window.filled(64)
    window.acknowledged(40, 64, BATCH)
    expect([window.size, window.proven]).toEqual([128, 64])
  })

  it('does not grow with nonces that were unacknowledged at a loss', () => {
    const window = createCongestionWindow({ start: 64, max: 1_000 })
    window.filled(64)
    window.loss(0, 64)
    window.filled(64)
    window.acknowledged(0, 64, BATCH)
    expect(window.size).toBe(32)
    window.filled(96)
    window.acknowledged(64, 96, BATCH)
    expect(window.size).toBe(64)
  })

  it('continues to grow after an acknowledgement without progress', () => {
    const window = createCongestionWindow({ start: 64, max: 1_000 })
    window.filled(64)
    window.acknowledged(0, 0, BATCH)
    expect([window.size, window.proven]).toEqual([64, 0])
    window.acknowledged(0, 64, BATCH)
    expect(window.size).toBe(128)
  })

  it('restores the size before the last loss if the loss was spurious', () => {
    const window = createCongestionWindow({ start: 64, max: 1_000 })
    const { losses } = window
    window.loss(0, 64)
    expect(window.losses).toBe(losses + 1)
    window.undo(losses)
    expect(window.size).toBe(64)
    // Slow start continues, including the nonces that were unacknowledged at the loss.
    expect(sizesOf(window, 2)).toEqual([128, 256])
  })

  it('restores no loss but the requested one, and each only once', () => {
    const window = createCongestionWindow({ start: 64, max: 1_000 })
    window.undo(window.losses)
    expect(window.size).toBe(64)
    const { losses } = window
    window.loss(0, 64)
    window.loss(64, 128)
    window.undo(losses)
    expect(window.size).toBe(16)
    window.undo(window.losses)
    expect(window.size).toBe(16)
    window.undo(losses + 1)
    expect(window.size).toBe(32)
    window.loss(128, 160)
    window.undo(window.losses - 1)
    expect(window.size).toBe(32)
    window.undo(window.losses - 1)
    expect(window.size).toBe(32)
  })

  it('keeps its growth since the spurious loss', () => {
    const window = createCongestionWindow({ start: 64, max: 1_000 })
    window.loss(0, 64)
    sizesOf(window, 8, 64)
    const { size } = window
    window.undo(0)
    expect(window.size).toBe(size)
  })

  it('stays between 1 and its maximum in any case', () => {
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
