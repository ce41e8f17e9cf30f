import fc from 'fast-check'
import { formatUnits } from 'viem'
import { expect, test } from 'vitest'
import { ANNA, type Given, payoutIn, refusalIn, TOKENS } from './payout.fixture.js'
import type { Money } from './rows.js'

const USDC: Given = { tokens: [TOKENS.USDC.address] }
const POL: Money = { kind: 'native', symbol: 'POL' }
const TOKEN: Money = { kind: 'token', ...TOKENS.USDC, symbol: 'USDC' }

const fileOf = (...amounts: readonly string[]) =>
  ['to;amount', ...amounts.map((amount) => `${ANNA};${amount}`)].join('\n')
const amounts = async (given: Given, ...texts: readonly string[]) =>
  (await payoutIn(fileOf(...texts), given)).rows.map(({ amount }) => amount)

test.each([
  ['0.5 ether', {}, 5n * 10n ** 17n],
  ['20 gwei', {}, 20n * 10n ** 9n],
  [' 100  wei ', {}, 100n],
  ['1 eth', {}, 10n ** 18n],
  ['1.5ETH', {}, 15n * 10n ** 17n],
  ['ETH 1.5', {}, 15n * 10n ** 17n],
  ['.5 ether', {}, 5n * 10n ** 17n],
  ['1E+18 wei', {}, 10n ** 18n],
  ['1.5e-3 ether', {}, 15n * 10n ** 14n],
  ['1000000000000000000e-18 ether', {}, 10n ** 18n],
  ["1'234'567.5 ether", {}, 12_345_675n * 10n ** 17n],
  ['1 000 ether', {}, 10n ** 21n],
  ['1\u00a0000\u202f000 ether', {}, 10n ** 24n],
  ['1_000 ether', {}, 10n ** 21n],
  ["'7 wei", {}, 7n],
  ['12.5 USDC', USDC, 12_500_000n],
  ['12.5 usdc', USDC, 12_500_000n],
  ['12.5 tokens', USDC, 12_500_000n],
  ['12 base', USDC, 12n],
  ['3', { ...USDC, unit: 'tokens' }, 3_000_000n],
  ['3 wei', { unit: 'ether' }, 3n],
  ['1.500 ether', { decimal: 'point' }, 15n * 10n ** 17n],
  ['1.500 ether', { decimal: 'comma' }, 1_500n * 10n ** 18n],
  ['1,500 ether', { decimal: 'comma' }, 15n * 10n ** 17n],
  ['1,00,000 ether', {}, 10n ** 23n],
  ['12,34,567.5 ether', {}, 12_345_675n * 10n ** 17n],
  ['Ξ2', {}, 2n * 10n ** 18n],
  ['="1.5 ether"', {}, 15n * 10n ** 17n],
  ['1.234.567,25 ether', {}, 123_456_725n * 10n ** 16n],
] as const)('%j is read exactly (%o)', async (text, given, expected) => {
  expect(await amounts(given, text)).toEqual([expected])
})

test.each([
  [
    'a number alone',
    '5',
    {},
    '"5" has no unit: write "5 ether" or "5 wei", or say --unit ether or --unit wei',
  ],
  ['digits that would be rounded away', '0.0000001 USDC', USDC, 'more than the 6 decimals of USDC'],
  ['half a wei', '0.5 wei', {}, 'more than the 0 decimals of wei'],
  ['a negative amount', '-1 ether', {}, 'is negative'],
  ['a negative amount of accountants', '(5) ether', {}, 'is negative'],
  ['a sign', '+5 ether', {}, 'is no amount'],
  ['another unit', '1 ether', USDC, '"ether" is no unit here: USDC, tokens, base'],
  ['two units', '1 USDC wei', {}, '"USDC wei" is no unit here'],
  ['a unit before and after', 'ETH 1 ether', {}, 'is no amount'],
  ['dollars', '$10', {}, '"$10" has the sign of a national currency: write the amount with the unit'],
  ['euros', '10 €', {}, '"10 €" has the sign of a national currency'],
  ['percent', '10 %', {}, '"10 %" is a percentage: write the amount itself'],
  ['a minus behind', '12.50-', {}, '"12.50-" is negative: it cannot be paid'],
  ['a minus of typesetters', '−12.50 ether', {}, '"−12.50 ether" is negative: it cannot be paid'],
  ['a dash', '-', {}, '"-" is no amount'],
  ['a day', '01/05/2026', {}, 'looks like a date or a time, which spreadsheets make of amounts'],
  ['a day with points', '1.5.2026', { unit: 'ether' }, 'looks like a date or a time'],
  ['a time', '12:30', {}, 'looks like a date or a time'],
  ['thousands by a letter', '1.5k', {}, '"1.5k" is abbreviated: write all of its digits'],
  ['millions by a word', '2 mio', {}, '"2 mio" is abbreviated'],
  ['an estimate', '~100', {}, '"~100" is not exact: write the amount that is paid'],
  ['a lower limit', '100+', {}, '"100+" is not exact'],
  ['a mark without decimals', '5.', {}, '"5." ends with a decimal mark'],
  ['wide digits', '１０ ether', {}, 'has digits other than 0 to 9'],
  ['Arabic digits', '١٠ ether', {}, 'has digits other than 0 to 9'],
  ['groups of two digits alone', '1,00,00 ether', {}, 'is no amount'],
  ['groups of different marks', "1'000 000 ether", {}, 'is no amount'],
  ['two numbers', '1 5 ether', {}, 'is no amount'],
  ['a fraction', '1/2 ether', {}, '"1/2 ether" is a fraction: write it with a decimal mark'],
  ['a letter that is a fraction', '½', {}, '"½" is a fraction'],
  ['an endless exponent', '1e999999999 wei', {}, 'is no amount'],
  ['an exponent beyond all balances', '1e99 ether', {}, 'is more than any account can have'],
  ['a hidden character in a number', '1\u200b5 ether', {}, '"\\u{200b}5 ether" is no unit here'],
  ['hexadecimal', '0x10', {}, '"0x10" is a hexadecimal number: write it with the digits 0 to 9'],
  ['hexadecimal and a unit', '0x10 wei', {}, 'is no unit'],
  ['a formula', '=SUM(B2:B3)', {}, 'is no amount'],
  [
    'an error of a spreadsheet',
    '#N/A',
    {},
    '"#N/A" is an error value of a spreadsheet: correct the formula there',
  ],
  ['nothing', '0 ether', {}, 'pays nothing'],
] as const)('refuses %s, with the reason', async (_, text, given, why) => {
  expect(await refusalIn(fileOf(text), given)).toContain(why)
})

test('the whole column decides between decimal point and comma', async () => {
  const ether = (text: string) => `${text} ether`
  expect(await amounts({}, ...['1.500', '0.25'].map(ether))).toEqual([15n * 10n ** 17n, 25n * 10n ** 16n])
  expect(await amounts({}, ...['1.500', '0,25'].map(ether))).toEqual([1_500n * 10n ** 18n, 25n * 10n ** 16n])
  expect(await amounts({}, ...['1,500', '1,500,000'].map(ether))).toEqual([
    1_500n * 10n ** 18n,
    15n * 10n ** 23n,
  ])
  expect(await refusalIn(fileOf('2 ether', '1.500 ether'))).toBe(
    'pay.csv has amounts with two readings: line 3, "1.500 ether", is 1500 or 1.500. Say --decimal comma for 1500, or --decimal point for 1.500.',
  )
  expect(await refusalIn(fileOf('1,500 ether'))).toContain(
    'is 1500 or 1.500. Say --decimal point for 1500, or --decimal comma for 1.500.',
  )
  expect(await refusalIn(fileOf('1.5 ether', '2,5 ether'))).toContain(
    'with a decimal point (line 2, "1.5 ether") and with a decimal comma (line 3, "2,5 ether"): say --decimal',
  )
  expect(await refusalIn(fileOf('1.5 ether', '2,5 ether'), { decimal: 'comma' })).toContain(
    'line 2 "1.5 ether" is no amount: the decimal mark of this column is a comma',
  )
})

test('any amount that is written with its decimals is read without losing a digit', async () => {
  const any = fc.tuple(fc.bigInt({ min: 1n, max: 10n ** 30n }), fc.constantFrom(POL, TOKEN))
  await fc.assert(
    fc.asyncProperty(any, async ([amount, money]) => {
      const decimals = money.kind === 'native' ? 18 : money.decimals
      const text = `${formatUnits(amount, decimals)} ${money.kind === 'native' ? 'ether' : 'tokens'}`
      const given = { ...(money.kind === 'token' && USDC), decimal: 'point' as const }
      expect(await amounts(given, text)).toEqual([amount])
    }),
    { numRuns: 50 },
  )
})
