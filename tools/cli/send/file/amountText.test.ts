import { expect, test } from 'vitest'
import { exactAmount, roundedDown, roundedUp, totalsOf, totalsText } from './amountText.js'
import type { Money } from './rows.js'

const ETHER: Money = { kind: 'native', symbol: 'ETH' }
const USDC: Money = { kind: 'token', address: `0x${'a'.repeat(40)}`, symbol: 'USDC', decimals: 6 }
const OTHER: Money = { ...USDC, address: `0x${'b'.repeat(40)}` }

test.each<[bigint, Money, string]>([
  [0n, ETHER, '0 ETH'],
  [5n, ETHER, '5 wei'],
  [20n * 10n ** 9n, ETHER, '20 gwei'],
  [20_000_000_000_000n, ETHER, '0.00002 ETH'],
  [2n * 10n ** 18n + 1n, ETHER, '2.000000000000000001 ETH'],
  [-(15n * 10n ** 17n), ETHER, '-1.5 ETH'],
  [1n, USDC, '0.000001 USDC'],
  [1_234_567_890_000n, USDC, '1,234,567.89 USDC'],
])('%s is shown exactly, as %s', (amount, money, text) => {
  expect(exactAmount(amount, money)).toBe(text)
})

test.each<[bigint, string]>([
  [1n, '1 wei'],
  [123_456n, '123,500 wei'],
  [4_200_000_000_001n, '4,201 gwei'],
  [21_000n * 1_234_567_891n, '0.00002593 ETH'],
  [123_450_000_000_000_000_001n, '123.4501 ETH'],
])('a fee of %s wei is shown rounded up, and never as 0: %s', (amount, text) => {
  expect(roundedUp(amount, ETHER)).toBe(text)
})

test('adds up each currency by itself, even two tokens of one name', () => {
  const rows = [
    { money: ETHER, amount: 10n ** 18n },
    { money: USDC, amount: 2_000_000n },
    { money: OTHER, amount: 3_000_000n },
    { money: USDC, amount: 500_000n },
  ]
  const totals = totalsOf(rows)
  expect(totals.map(({ amount, lines }) => [amount, lines])).toEqual([
    [2_500_000n, 2],
    [10n ** 18n, 1],
    [3_000_000n, 1],
  ])
  expect(totalsText(totals)).toBe('2.5 USDC, 1 ETH and 3 USDC')
  expect(totalsText(totals.slice(0, 1))).toBe('2.5 USDC')
})

test('a balance is rounded down', () => {
  expect(roundedDown(9_981_698_765_432_100_000_000n, ETHER)).toBe('9,981.6987 ETH')
  expect(roundedDown(12_349n, ETHER)).toBe('12,340 wei')
  expect(roundedDown(0n, ETHER)).toBe('0 ETH')
})
