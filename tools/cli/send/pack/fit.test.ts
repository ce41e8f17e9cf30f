import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Row } from '../file/rows.js'
import { fitPack, type Judge } from './fit.js'

const rowsOf = (count: number): readonly Row[] =>
  Array.from({ length: count }, (_, index) => ({ line: index + 1 }) as Row)
const linesOf = (rows: readonly Row[]) => rows.map(({ line }) => line)

/** Refuses packs with a bad line, and packs that are too large. */
function judgeOf(bad: ReadonlySet<number>, most = Number.POSITIVE_INFINITY) {
  let asked = 0
  const judge: Judge = async (rows) => {
    asked++
    const isFine = rows.length <= most && rows.every(({ line }) => !bad.has(line))
    return isFine ? { ok: true, gas: BigInt(rows.length) } : { ok: false, why: 'no' }
  }
  return { judge, asked: () => asked }
}

test('leaves out exactly the lines that fail, and packs the others in order', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 60 }),
      fc.array(fc.integer({ min: 1, max: 60 })),
      async (count, list) => {
        const bad = new Set(list.filter((line) => line <= count))
        const { packs, failing } = await fitPack(rowsOf(count), judgeOf(bad).judge)
        const good = linesOf(rowsOf(count)).filter((line) => !bad.has(line))
        expect(packs.map(({ rows }) => linesOf(rows))).toEqual(good.length === 0 ? [] : [good])
        expect(failing.map(({ row }) => row.line)).toEqual([...bad].sort((a, b) => a - b))
      },
    ),
  )
})

test('finds one line of 400 with about two questions for each doubling', async () => {
  const { judge, asked } = judgeOf(new Set([237]))
  const { packs, failing } = await fitPack(rowsOf(400), judge)
  expect([packs.length, failing.length]).toEqual([1, 1])
  expect(asked()).toBeLessThanOrEqual(2 * Math.ceil(Math.log2(400)) + 2)
})

test('halves a pack that is too large, with or without lines that fail', async () => {
  const whole = await fitPack(rowsOf(100), judgeOf(new Set(), 30).judge)
  expect(whole.packs.map(({ rows }) => rows.length)).toEqual([25, 25, 25, 25])
  const some = await fitPack(rowsOf(100), judgeOf(new Set([1]), 30).judge)
  expect(some.packs.flatMap(({ rows }) => linesOf(rows))).toEqual(linesOf(rowsOf(100)).slice(1))
  expect(some.failing.map(({ row }) => row.line)).toEqual([1])
})
