import fc from 'fast-check'
import { formatUnits } from 'viem'
import { expect, test } from 'vitest'
import { parseAmount, showAmount } from './amounts.js'
import type { Money } from './rows.js'

const ETHER: Money = { kind: 'native', symbol: 'POL' }
const USDC: Money = { kind: 'token', address: `0x${'1'.repeat(40)}`, symbol: 'USDC', decimals: 6 }

test('parses an amount in its unit without losing a digit', () => {
  expect(parseAmount('0.5 ether', ETHER, undefined)).toBe(5n * 10n ** 17n)
  expect(parseAmount('20 gwei', ETHER, undefined)).toBe(20n * 10n ** 9n)
  expect(parseAmount(' 100  wei ', ETHER, undefined)).toBe(100n)
  expect(parseAmount('1 pol', ETHER, undefined)).toBe(10n ** 18n)
  expect(parseAmount('12.5 USDC', USDC, undefined)).toBe(12_500_000n)
  expect(parseAmount('12.5 tokens', USDC, undefined)).toBe(12_500_000n)
  expect(parseAmount('12 base', USDC, undefined)).toBe(12n)
  expect(parseAmount('3', USDC, 'tokens')).toBe(3_000_000n)
  // The unit of the amount overrides --unit.
  expect(parseAmount('3 wei', ETHER, 'ether')).toBe(3n)
  const any = fc.tuple(fc.bigInt({ min: 0n, max: 10n ** 30n }), fc.constantFrom(ETHER, USDC))
  fc.assert(
    fc.property(any, ([amount, money]) => {
      const decimals = money.kind === 'native' ? 18 : money.decimals
      const unit = money.kind === 'native' ? 'ether' : 'tokens'
      expect(parseAmount(`${formatUnits(amount, decimals)} ${unit}`, money, undefined)).toBe(amount)
    }),
  )
})

test.each([
  ['a number alone', '5', 'has no unit'],
  ['digits that would be rounded away', '0.0000001 USDC', 'more than the 6 decimals'],
  ['half a wei', '0.5 wei', 'more than the 0 decimals'],
  ['a sign', '-1 USDC', 'is no amount'],
  ['thousands', '1,000 USDC', 'is no amount'],
  ['an exponent', '1e3 USDC', 'is no amount'],
  ['another unit', '1 ether', 'is no unit here: USDC, tokens, base'],
  ['two units', '1 USDC wei', 'is no amount'],
  ['nothing', '', 'is no amount'],
])('refuses %s, with the reason', (_, text, why) => {
  const parse = () =>
    parseAmount(text, text.includes('wei') && !text.includes('USDC') ? ETHER : USDC, undefined)
  expect(parse).toThrow(why)
})

test('shows amounts in whole units', () => {
  expect(showAmount(1n, ETHER)).toBe('0.000000000000000001 POL')
  expect(showAmount(12_500_000n, USDC)).toBe('12.5 USDC')
})
