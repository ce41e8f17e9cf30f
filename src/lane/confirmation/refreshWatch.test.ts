import { expect, test } from 'vitest'
import { createRefreshWatch } from './pendingBlocks.js'

/** A poll at a time, in milliseconds. Refreshes are 200 ms apart. */
function watch() {
  let nowMs = 0
  const refreshes = createRefreshWatch({ now: () => nowMs })
  return (
    atMs: number,
    seen: number | undefined,
    { reports = true, hasPending = true, refreshMs = 200 } = {},
  ) => {
    nowMs = atMs
    const look = { askedAtMs: atMs, hasPending, refreshes: seen, refreshMs }
    const isNew = refreshes.isNew(look)
    if (isNew && reports) refreshes.noteUsed(look)
    return isNew
  }
}

test('counts a refresh once, however soon after a poll it comes', () => {
  const look = watch()
  expect(look(1_000, 7)).toBe(true)
  expect(look(1_020, 7)).toBe(false)
  // 120 ms later: the last poll was shortly before this refresh.
  expect(look(1_120, 8)).toBe(true)
  expect(look(1_310, 8)).toBe(false)
  expect(look(1_330, 9)).toBe(true)
})

test('counts a refresh for the next poll if a poll said nothing about it', () => {
  const look = watch()
  expect(look(1_000, 7)).toBe(true)
  expect(look(1_120, 8, { reports: false })).toBe(true)
  expect(look(1_140, 8)).toBe(true)
  expect(look(1_160, 8)).toBe(false)
})

test('counts close polls once if the rhythm is unknown', () => {
  const look = watch()
  expect(look(1_000, undefined)).toBe(true)
  expect(look(1_149, undefined)).toBe(false)
  expect(look(1_150, undefined)).toBe(true)
  // The rhythm is known from here on, but there is no earlier value to compare it with.
  expect(look(1_160, 3)).toBe(false)
  expect(look(1_300, 3)).toBe(true)
  expect(look(1_320, 4)).toBe(true)
  // The rhythm is unknown again.
  expect(look(1_330, undefined)).toBe(false)
})

test('does not count a poll without a pending block', () => {
  expect(watch()(1_000, 7, { hasPending: false })).toBe(false)
})

test('counts close polls once if the rhythm is unknown and the period is longer than the poll interval', () => {
  const look = watch()
  expect(look(1_000, undefined, { refreshMs: 500 })).toBe(true)
  expect(look(1_200, undefined, { refreshMs: 500 })).toBe(false)
  expect(look(1_400, undefined, { refreshMs: 500 })).toBe(true)
})
