import { type CellObject, utils, type WorkSheet, write } from '@e965/xlsx'
import { describe, expect, test } from 'vitest'
import { ANNA, BOB, ETHER, payoutIn, refusalIn } from '../payout.fixture.js'

type Cell = string | number | boolean | Date | Partial<CellObject>

function sheetOf(rows: readonly (readonly Cell[])[]): WorkSheet {
  const sheet = utils.aoa_to_sheet(rows.map((row) => row.map((cell) => cell)) as never)
  return sheet
}

function bookOf(
  sheets: Readonly<Record<string, WorkSheet>>,
  bookType: 'xlsx' | 'ods' | 'biff8' = 'xlsx',
): Uint8Array {
  const book = utils.book_new()
  for (const [name, sheet] of Object.entries(sheets)) utils.book_append_sheet(book, sheet, name)
  return new Uint8Array(write(book, { type: 'buffer', bookType }) as Buffer)
}

const HEAD = ['Name', 'Wallet', 'Amount (ETH)', 'Note']
const amountsOf = async (bytes: Uint8Array, given = {}) =>
  (await payoutIn(bytes, given)).rows.map(({ line, to, amount }) => [line, to, amount])

describe.each(['xlsx', 'ods', 'biff8'] as const)('a spreadsheet as %s', (type) => {
  test('is read like a table of text: numbers exactly, below a title, without empty rows', async () => {
    const sheet = sheetOf([
      ['Payroll'],
      [],
      HEAD,
      ['Anna', ANNA, 1.125, 'Zürich'],
      [],
      ['Bob', BOB, 1_000, ''],
      ['Bob', BOB, '2,5', ''],
      ['Bob', BOB, '0.1 gwei', ''],
    ])
    const bytes = bookOf({ Pay: sheet }, type)
    expect(await refusalIn(bytes)).toContain('line 7, "2,5"')
    const fixed = bookOf(
      { Pay: sheetOf([['Payroll'], [], HEAD, ['Anna', ANNA, 1.125, 'Zürich'], [], ['Bob', BOB, 1_000, '']]) },
      type,
    )
    const payout = await payoutIn(fixed)
    expect(payout.rows.map(({ line, amount, cells }) => [line, amount, cells[3]])).toEqual([
      [4, (1_125n * ETHER) / 1_000n, 'Zürich'],
      [6, 1_000n * ETHER, ''],
    ])
    expect(payout.understood[0]).toEqual(['format', 'spreadsheet, sheet "Pay"'])
  })

  test('with several sheets needs --sheet', async () => {
    const may = sheetOf([
      ['to', 'amount'],
      [ANNA, '1 ether'],
    ])
    const june = sheetOf([
      ['to', 'amount'],
      [BOB, '2 ether'],
    ])
    const bytes = bookOf({ May: may, Empty: sheetOf([]), June: june }, type)
    expect(await refusalIn(bytes)).toBe(
      'pay.csv has several sheets: "May", "June". Choose one: --sheet "May".',
    )
    expect(await amountsOf(bytes, { sheet: 'june' })).toEqual([[2, BOB, 2n * ETHER]])
    expect(await refusalIn(bytes, { sheet: 'July' })).toContain(
      'has no sheet "July" with cells: it has "May", "June".',
    )
  })
})

test('a number is paid exactly if the sheet shows all of it, and refused otherwise', async () => {
  const number = (v: number, z: string) => ({ t: 'n' as const, v, z })
  const rows = (...cells: Cell[]) =>
    bookOf({ Pay: sheetOf([HEAD, ...cells.map((cell) => ['x', ANNA, cell, ''])]) })
  expect(
    await amountsOf(
      rows(
        number(1234.5, '#,##0.00'),
        number(1234.5, '0.0 "ETH"'),
        number(1e18, '0.00E+00'),
        number(0.1, 'General'),
      ),
    ),
  ).toEqual([
    [2, ANNA, (12_345n * ETHER) / 10n],
    [3, ANNA, (12_345n * ETHER) / 10n],
    [4, ANNA, 10n ** 18n * ETHER],
    [5, ANNA, ETHER / 10n],
  ])
  expect(await refusalIn(rows(number(12.345, '0.00')))).toContain(
    'line 2 holds the number 12.345 and shows 12.35: round it in the sheet, or show all of its digits',
  )
  expect(await refusalIn(rows(number(0.5, '0%')))).toContain('line 2 holds the number 0.5 and shows 50%')
  expect(await refusalIn(rows(0.1 + 0.2))).toContain(
    'has the number 0.30000000000000004, of which a spreadsheet keeps 15 digits',
  )
  expect(await refusalIn(rows(1_234_567_890_123_450_000))).toContain('of which a spreadsheet keeps 15 digits')
  expect(await refusalIn(rows(number(10, '"$"0.00')))).toContain('"10 $" has the sign of a national currency')
  expect(await refusalIn(rows({ t: 'e', v: 0x17, w: '#REF!' }))).toContain('"#REF!" is an error value')
  expect(await refusalIn(rows(new Date(Date.UTC(2024, 4, 1))))).toContain('line 2 holds a date or a time')
})

test('numbers in columns that no payment needs are not checked', async () => {
  const head = ['to', 'amount', 'date', 'rate']
  const bytes = bookOf({
    Pay: sheetOf([head, [ANNA, '1 ether', { t: 'n', v: 45_413, z: 'dd/mm/yyyy' }, 1 / 3]]),
  })
  const { rows } = await payoutIn(bytes)
  expect(rows[0]?.cells).toEqual([ANNA, '1 ether', '01/05/2024', '0.3333333333333333'])
})

test('hidden rows are refused, and a hidden sheet does not count', async () => {
  const sheet = sheetOf([
    ['to', 'amount'],
    [ANNA, '1 ether'],
    [BOB, '2 ether'],
  ])
  sheet['!rows'] = [{}, {}, { hidden: true }]
  expect(await refusalIn(bookOf({ Pay: sheet }))).toContain('line 3 is hidden in the sheet')
  const book = utils.book_new()
  utils.book_append_sheet(
    book,
    sheetOf([
      ['to', 'amount'],
      [ANNA, '1 ether'],
    ]),
    'Pay',
  )
  utils.book_append_sheet(book, sheetOf([['a', 'b']]), 'Lists')
  book.Workbook = { Sheets: [{ Hidden: 0 }, { Hidden: 1 }] }
  expect(
    await amountsOf(new Uint8Array(write(book, { type: 'buffer', bookType: 'xlsx' }) as Buffer)),
  ).toEqual([[2, ANNA, ETHER]])
})

test('a file that only looks like a spreadsheet is refused', async () => {
  expect(await refusalIn(new Uint8Array([0x50, 0x4b, 3, 4, 1, 2, 3]))).toContain('is no spreadsheet')
  expect(await refusalIn(new Uint8Array([0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1, 1]))).toContain(
    'is no spreadsheet',
  )
  expect(await refusalIn('to,amount\n', { sheet: 'Pay' })).toBe(
    'pay.csv is no spreadsheet: leave out --sheet.',
  )
})
