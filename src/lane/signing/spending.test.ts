import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createSpending, untilNextMinute, WINDOWS, type Window } from './spending.js'

const MINUTE_MS = 60_000
const WINDOW_MS: Record<Window, number> = { hour: 60 * MINUTE_MS, day: 1_440 * MINUTE_MS }

type Spent = { readonly wei: bigint; readonly atMs: number }
const amounts = fc.array(
  fc.record({ wei: fc.bigInt({ min: 0n, max: 2n ** 90n }), afterMs: fc.nat({ max: 2 * 3_600_000 }) }),
  { maxLength: 60 },
)

function inTime(all: readonly { wei: bigint; afterMs: number }[]): Spent[] {
  let atMs = 0
  return all.map(({ wei, afterMs }) => {
    atMs += afterMs
    return { wei, atMs }
  })
}

const sum = (all: readonly Spent[]) => all.reduce((total, { wei }) => total + wei, 0n)

test('an amount within the window counts, and an amount that is a minute older does not', () => {
  fc.assert(
    fc.property(amounts, fc.nat({ max: 30 * 3_600_000 }), (all, laterMs) => {
      const spending = createSpending()
      const spent = inTime(all)
      for (const { wei, atMs } of spent) spending.add(wei, atMs)
      const nowMs = (spent.at(-1)?.atMs ?? 0) + laterMs
      for (const window of Object.keys(WINDOWS) as Window[]) {
        const since = (ms: number) => sum(spent.filter(({ atMs }) => nowMs - atMs <= ms))
        const counted = spending.in(window, nowMs)
        expect(counted >= since(WINDOW_MS[window])).toBe(true)
        expect(counted <= since(WINDOW_MS[window] + MINUTE_MS)).toBe(true)
      }
    }),
  )
})

test('a corrected amount counts like the right amount, as long as its minute is in a window', () => {
  fc.assert(
    fc.property(amounts, fc.bigInt({ min: 0n, max: 2n ** 90n }), fc.nat(), (all, now, which) => {
      const spent = inTime(all)
      if (spent.length === 0) return
      const [corrected, direct] = [createSpending(), createSpending()]
      const chosen = which % spent.length
      const minutes = spent.map(({ wei, atMs }) => corrected.add(wei, atMs))
      corrected.correct(minutes[chosen]!, now - spent[chosen]!.wei)
      for (const [index, { wei, atMs }] of spent.entries()) direct.add(index === chosen ? now : wei, atMs)
      const nowMs = spent.at(-1)!.atMs
      for (const window of Object.keys(WINDOWS) as Window[])
        expect(corrected.in(window, nowMs)).toBe(direct.in(window, nowMs))
    }),
  )
})

test('earlier spending counts by its time, even if it is added newest first', () => {
  const spending = createSpending()
  spending.add(1n, -2 * MINUTE_MS)
  spending.add(10n, -90 * MINUTE_MS)
  spending.add(100n, -25 * 60 * MINUTE_MS)
  expect([spending.in('hour', 0), spending.in('day', 0)]).toEqual([1n, 11n])
})

test('the spending is zero after clear()', () => {
  const spending = createSpending()
  spending.add(5n, 0)
  spending.clear()
  expect([spending.in('hour', 0), spending.in('day', 0)]).toEqual([0n, 0n])
})

test('the windows move at full minutes', () => {
  expect([0, 1, 59_999, 60_000].map(untilNextMinute)).toEqual([60_000, 59_999, 1, 60_000])
})
