import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { csvCell, uncell } from './csvCell.js'

const readOf = (line: string): readonly string[] =>
  (parse(line, { record_delimiter: ['\r\n', '\n'] }) as string[][])[0] ?? []

describe('a cell that a spreadsheet would run', () => {
  test.each([
    '=1+1',
    '+1',
    '-1',
    '@SUM(A1)',
    '\t=1',
    '\r=1',
    '\n=1',
    '\0=1',
    '＝1+1',
    '＋1',
    '－1',
    '＠a',
    '  =1',
    '\u00a0-1',
    '\ufeff=1',
    "'=1",
    "''=1",
  ])('is text: %j, and read back', (text) => {
    const [cell = ''] = readOf(csvCell(text))
    expect(cell).toMatch(/^'/)
    expect(cell).not.toContain('\0')
    expect(uncell(cell)).toBe(text)
  })

  test.each(["it's", "'quoted'", 'plain', 'a=1', '1-2', ''])('is not %j, which stays as it is', (text) => {
    expect(csvCell(text)).toBe(text)
    expect(uncell(text)).toBe(text)
  })
})

test('any text is read back exactly', () => {
  const special = fc.constantFrom(
    "'",
    '=',
    '-',
    '＝',
    '\t',
    '\r',
    '\n',
    '\0',
    '␀',
    '0',
    ' ',
    '"',
    ',',
    '\ufeff',
  )
  const text = fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: special }))
  fc.assert(
    fc.property(fc.array(text, { minLength: 2 }), (texts) => {
      expect(readOf(texts.map(csvCell).join(',')).map(uncell)).toEqual(texts)
    }),
  )
})
