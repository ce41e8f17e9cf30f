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

  it('proves nothing where a reorg took back what is acknowledged again, although it is full this time', () => {
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

  it('takes for proven what was unacknowledged at once, once all of it is acknowledged', () => {
    const window = createCongestionWindow({ start: 64, max: 1_000 })
    window.filled(64)
    window.filled(32)
    window.acknowledged(0, 40, BATCH)
    expect([window.size, window.proven]).toEqual([104, 0])
    window.filled(64)
    window.acknowledged(40, 64, BATCH)
    expect([window.size, window.proven]).toEqual([128, 64])
  })

  it('does not grow with what was unacknowledged at a loss', () => {
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

  it('grows on where an acknowledgement that brought nothing came in between', () => {
    const window = createCongestionWindow({ start: 64, max: 1_000 })
    window.filled(64)
    window.acknowledged(0, 0, BATCH)
    expect([window.size, window.proven]).toEqual([64, 0])
    window.acknowledged(0, 64, BATCH)
    expect(window.size).toBe(128)
  })

  it('gives back what the last loss took, where it turns out to have been none', () => {
    const window = createCongestionWindow({ start: 64, max: 1_000 })
    const { losses } = window
    window.loss(0, 64)
    expect(window.losses).toBe(losses + 1)
    window.undo(losses)
    expect(window.size).toBe(64)
    // Slow start goes on, with what was unacknowledged at the loss too.
    expect(sizesOf(window, 2)).toEqual([128, 256])
  })

  it('gives back no more than it is asked for, and nothing twice', () => {
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

  it('keeps what it has grown to since the loss that was none', () => {
    const window = createCongestionWindow({ start: 64, max: 1_000 })
    window.loss(0, 64)
    sizesOf(window, 8, 64)
    const { size } = window
    window.undo(0)
    expect(window.size).toBe(size)
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
