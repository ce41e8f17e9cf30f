import { expect, test } from 'vitest'
import { createRefreshWatch } from './refreshWatch.js'

/** A look at a time, in milliseconds: refreshes are 200 ms apart. */
function watch() {
  let nowMs = 0
  const refreshes = createRefreshWatch({ now: () => nowMs }, () => 200)
  return (atMs: number, seen: number | undefined, { tells = true, hasPending = true } = {}) => {
    nowMs = atMs
    const look = { askedAtMs: atMs, hasPending, refreshes: seen }
    const isNew = refreshes.isNew(look)
    if (isNew && tells) refreshes.told(look)
    return isNew
  }
}

test('a refresh counts once, however soon after a look it comes', () => {
  const look = watch()
  expect(look(1_000, 7)).toBe(true)
  expect(look(1_020, 7)).toBe(false)
  // 120 ms later: the last look was shortly before this refresh.
  expect(look(1_120, 8)).toBe(true)
  expect(look(1_310, 8)).toBe(false)
  expect(look(1_330, 9)).toBe(true)
})

test('one that a look told nothing of counts for the next look', () => {
  const look = watch()
  expect(look(1_000, 7)).toBe(true)
  expect(look(1_120, 8, { tells: false })).toBe(true)
  expect(look(1_140, 8)).toBe(true)
  expect(look(1_160, 8)).toBe(false)
})

test('where the rhythm is not known looks that are close together count once', () => {
  const look = watch()
  expect(look(1_000, undefined)).toBe(true)
  expect(look(1_149, undefined)).toBe(false)
  expect(look(1_150, undefined)).toBe(true)
  // Known from here on: there is nothing to compare it with yet.
  expect(look(1_160, 3)).toBe(false)
  expect(look(1_300, 3)).toBe(true)
  expect(look(1_320, 4)).toBe(true)
  // And not known any more.
  expect(look(1_330, undefined)).toBe(false)
})

test('a look without a pending block is none', () => {
  expect(watch()(1_000, 7, { hasPending: false })).toBe(false)
})
