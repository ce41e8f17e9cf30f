import { readdirSync } from 'node:fs'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { sample } from '../payout.fixture.js'
import { readJson } from './json.js'
import { readTable } from './readTable.js'
import { bytesSource, type Source } from './source.js'
import { textOf } from './text.js'

/** The bytes in chunks of these sizes, again and again. */
function cut(bytes: Uint8Array, sizes: readonly number[]): Source {
  return {
    *chunks() {
      for (let [at, turn] = [0, 0]; at < bytes.length; turn++) {
        const size = sizes[turn % sizes.length] ?? 1
        yield bytes.subarray(at, at + size)
        at += size
      }
    },
    whole: () => bytes,
  }
}

const tableOf = (source: Source) =>
  readTable(source, undefined).then(
    ({ rows, ...rest }) => ({ ...rest, rows: [...rows] }),
    (error: Error) => error.message,
  )

const SAMPLES = readdirSync(new URL('../samples', import.meta.url))
// Fewer bytes do not show the encoding.
const START = 256

test.each(SAMPLES)('%s is the same table, wherever the file is cut into chunks', async (name) => {
  const bytes = sample(name)
  const whole = await tableOf(bytesSource(bytes))
  for (const size of [1, 2, 3, 7]) expect(await tableOf(cut(bytes, [START, size]))).toEqual(whole)
})

test('any text is the same table, wherever it is cut', async () => {
  const address = `0x${'ab'.repeat(20)}`
  const part = fc.constantFrom('\r', '\n', '\r\n', '"', ',', 'ü', '€', '😀', '#', 'a', `${address},1 ether`)
  await fc.assert(
    fc.asyncProperty(
      fc.array(part, { maxLength: 40 }),
      fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 }),
      async (parts, sizes) => {
        const bytes = new TextEncoder().encode(`to,amount,note\r\n${parts.join('')}`)
        expect(await tableOf(cut(bytes, sizes))).toEqual(await tableOf(bytesSource(bytes)))
      },
    ),
    { numRuns: 300 },
  )
})

test('a list of payments in JSON is the same table, wherever it is cut', async () => {
  const texts = [
    '[{"to":"a","amount":1},\n {"to":"b","amount":2.50,"note":"x, y"}]',
    '{"payments":[{"to":"a","amount":1}, {"to":"b","amount":1e3}]}',
    '[["a",1],["b",2]]',
    '[{"to":"a","amount":1} {"to":"b"}]',
    '[{"to":"a","to":"b"},\n["c"],\n7]',
    '{"to":"a","amount":1}\n{"to":"b","amount":{"n":2}}\n',
  ]
  for (const text of texts) {
    const bytes = new TextEncoder().encode(text)
    expect(await tableOf(cut(bytes, [2]))).toEqual(await tableOf(bytesSource(bytes)))
  }
})

test('a list of payments in JSON is read without its whole text in memory', () => {
  const list = '[{"to":"a\\"b","amount":1},\n {"to":"c","amount":2.50,"note":{"x":[1, 2]}}]'
  const expected = [
    ...readJson(
      textOf(() => [list]),
      'UTF-8',
    ).rows,
  ]
  for (const text of [list, `{"payments" : ${list}}`]) {
    const parts = {
      ...textOf(() => text),
      whole: () => {
        throw new Error('the whole text was asked for')
      },
    }
    expect([...readJson(parts, 'UTF-8').rows]).toEqual(expected)
  }
  expect(expected.map(({ cells }) => cells)).toEqual([
    ['a"b', '1'],
    ['c', '2.50', '{"x":[1,2]}'],
  ])
})
