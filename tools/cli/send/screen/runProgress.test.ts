import { expect, test } from 'vitest'
import { barLine } from '../../shared/progress.js'
import { duration, runProgress } from './runProgress.js'

function progress(total: number, before = 0) {
  let nowMs = 0
  const counts = { queued: 0, signed: 0, accepted: 0, preconfirmed: 0, sealed: 0, failed: 0 }
  const clock = { now: () => nowMs, wallNow: () => 0, setTimer: () => () => {} }
  const shown = runProgress({ counts }, { total, before, clock })
  return {
    counts,
    shown,
    at(seconds: number) {
      nowMs = seconds * 1_000
    },
  }
}

test('shows no rate and no remaining time before the first block', () => {
  const { counts, shown, at } = progress(100)
  at(3)
  expect(shown().text[0]).toBe('sealed 0 of 100')
  Object.assign(counts, { signed: 80, accepted: 60, preconfirmed: 40 })
  expect(shown().text[0]).toBe('sealed 0 of 100, preconfirmed 40, accepted 60, signed 80')
  expect(shown().stages).toEqual([0, 40, 60, 80])
  Object.assign(counts, { sealed: 1 })
  expect(shown().text[0]).toBe('sealed 1 of 100, preconfirmed 40, accepted 60, signed 80, 0.3/s')
  Object.assign(counts, { sealed: 30 })
  expect(shown().text[0]).toBe('sealed 30 of 100, preconfirmed 40, accepted 60, signed 80, 10/s, 7 s left')
})

test('the rate and the remaining time are not worse each second until the next block', () => {
  const { counts, shown, at } = progress(1_000)
  at(2)
  Object.assign(counts, { sealed: 100 })
  expect(shown().text[0]).toBe('sealed 100 of 1,000, 50/s, 18 s left')
  at(8)
  expect(shown().text[0]).toBe('sealed 100 of 1,000, 50/s, 12 s left')
  at(40)
  expect(shown().text[0]).toBe('sealed 100 of 1,000, 50/s, 1 s left')
})

test('the bar moves with the first stage that moves', () => {
  const { counts, shown } = progress(100)
  const bars = [{}, { signed: 100 }, { accepted: 100 }, { preconfirmed: 100 }, { sealed: 100 }].map(
    (change) => {
      Object.assign(counts, change)
      return barLine(shown(), 100, 80).split(' ')[0]
    },
  )
  expect(new Set(bars).size).toBe(bars.length)
})

test('a stage that was not seen is passed by the lines of a later one', () => {
  const { counts, shown } = progress(100)
  Object.assign(counts, { sealed: 50, accepted: 20 })
  expect(shown().text[0]).toContain('sealed 50 of 100')
  expect(shown().stages).toEqual([50, 50, 50, 50])
})

test('lines that earlier runs paid are counted, and do not make the run faster', () => {
  const { counts, shown, at } = progress(1_000, 600)
  at(10)
  Object.assign(counts, { sealed: 600 })
  expect(shown().text[0]).toBe('sealed 600 of 1,000')
  Object.assign(counts, { sealed: 620, failed: 1 })
  expect(shown().text[0]).toBe('sealed 620 of 1,000, not paid 1, 2.0/s, 4 min left')
  Object.assign(counts, { sealed: 999 })
  expect(shown().text[0]).toBe('sealed 999 of 1,000, not paid 1, 40/s')
})

test('drops the least important parts in a narrow terminal, and the count never', () => {
  const { counts, shown, at } = progress(200_000)
  at(100)
  Object.assign(counts, { sealed: 10_000, preconfirmed: 12_000, accepted: 15_000, signed: 18_000, failed: 3 })
  const at60 = barLine(shown(), 200_000, 60)
  expect(at60).toContain('sealed 10,000 of 200,000')
  expect(at60).toContain('left')
  for (const width of [60, 80, 120]) expect(barLine(shown(), 200_000, width).length).toBeLessThan(width)
  expect(barLine(shown(), 200_000, 30)).toContain('10,000 of 200,000')
})

test.each([
  [0.2, '1 s'],
  [89, '89 s'],
  [91, '2 min'],
  [7_200, '2.0 h'],
])('%d seconds read as %s', (seconds, text) => {
  expect(duration(seconds)).toBe(text)
})
