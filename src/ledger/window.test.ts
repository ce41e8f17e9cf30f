import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createWindow, type Window } from './window.js'

/** A lane that always sends as much as the window lets it, and sees all of it covered at once. */
function fillAndCover(window: Window, from: number): number {
  const cursor = from + window.size
  window.progress(cursor, cursor)
  return cursor
}

function started(options: { start: number; max: number }, at = 0): Window {
  const window = createWindow(options)
  window.progress(at, at)
  return window
}

describe('the window', () => {
  test('doubles each time a whole window was covered without a loss, up to its maximum', () => {
    const window = started({ start: 64, max: 2_048 }, 1_000)
    const sizes: number[] = []
    for (let cursor = 1_000, round = 0; round < 7; round++) {
      cursor = fillAndCover(window, cursor)
      sizes.push(window.size)
    }
    expect(sizes).toEqual([128, 256, 512, 1_024, 2_048, 2_048, 2_048])
  })

  test('grows by each nonce of a full window that is covered', () => {
    const window = started({ start: 4, max: 64 })
    const sizes = [1, 2, 4].map((covered) => {
      window.progress(covered, 4)
      return window.size
    })
    expect(sizes).toEqual([5, 6, 8])
    window.progress(5, 8)
    expect(window.size).toBe(8)
  })

  test('a nonce that is covered a second time shows nothing new', () => {
    const window = started({ start: 4, max: 64 })
    for (const covered of [3, 0, 3]) window.progress(covered, 4)
    expect(window.size).toBe(7)
  })

  test('does not grow for a lane that never fills it: that shows nothing', () => {
    const window = started({ start: 64, max: 2_048 })
    for (let cursor = 1; cursor < 1_000; cursor++) window.progress(cursor, cursor)
    expect(window.size).toBe(64)
  })

  test('halves on a loss, once for all that is uncovered then', () => {
    const window = started({ start: 64, max: 2_048 })
    window.loss(0, 64)
    window.loss(0, 64)
    window.loss(60, 64)
    expect(window.size).toBe(32)
    window.progress(64, 80)
    window.loss(64, 80)
    expect(window.size).toBe(16)
  })

  test('after a loss it doubles only for a window that was filled after it', () => {
    const window = started({ start: 8, max: 64 })
    window.progress(0, 8)
    window.loss(0, 8)
    window.progress(8, 8)
    expect(window.size).toBe(4)
    fillAndCover(window, 8)
    expect(window.size).toBe(8)
  })

  test('is one at the least', () => {
    const window = started({ start: 2, max: 64 })
    for (let cursor = 2; cursor < 10; cursor++) window.loss(cursor, cursor + 1)
    expect(window.size).toBe(1)
    window.progress(20, 20)
    fillAndCover(window, 20)
    expect(window.size).toBe(2)
  })

  test('a cap holds it down, does not let it grow unseen, and is taken off again', () => {
    const window = started({ start: 64, max: 2_048 })
    window.cap(4)
    let cursor = 0
    for (let round = 0; round < 5; round++) cursor = fillAndCover(window, cursor)
    expect(window.size).toBe(4)
    window.cap(undefined)
    expect(window.size).toBe(64)
  })

  test('coverage that comes down again neither grows nor shrinks it', () => {
    const window = started({ start: 8, max: 64 })
    window.progress(6, 6)
    window.progress(2, 6)
    expect(window.size).toBe(8)
  })

  test('stays between one and its maximum, and at most halves or doubles, whatever happens', () => {
    const stepArbitrary = fc.record({
      kind: fc.constantFrom('progress', 'progress', 'loss'),
      send: fc.nat(20),
      cover: fc.nat(20),
    })
    fc.assert(
      fc.property(fc.array(stepArbitrary, { maxLength: 200 }), (steps) => {
        const window = started({ start: 8, max: 40 })
        let cursor = 0
        let covered = 0
        for (const { kind, send, cover } of steps) {
          const before = window.size
          cursor = Math.max(cursor, Math.min(cursor + send, covered + before))
          if (kind === 'progress') covered = Math.min(cursor, covered + cover)
          window[kind](covered, cursor)
          if (kind === 'loss') expect([before, Math.max(1, before >> 1)]).toContain(window.size)
          else expect(window.size).toBeGreaterThanOrEqual(before)
          expect(window.size).toBeLessThanOrEqual(Math.min(40, before * 2))
        }
      }),
    )
  })
})
