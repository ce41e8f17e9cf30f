import { expect, test } from 'vitest'
import type { Money } from '../file/rows.js'
import { isAmount } from './prompt.js'

const ETHER: Money = { kind: 'native', symbol: 'ETH' }
const USDC: Money = { kind: 'token', address: `0x${'a'.repeat(40)}`, symbol: 'USDC', decimals: 6 }
const total = (amount: bigint, money: Money) => ({ amount, money, lines: 1 })

const EXACT = total(20_100_500_000n, USDC)

test.each(['20100.5', '20,100.5', '20,100.50', '20100.500 USDC', '20,100.5 usdc', ' 20100.5 '])(
  '%j is the amount 20,100.5 USDC',
  (typed) => {
    expect(isAmount(typed, EXACT)).toBe(true)
  },
)

test.each([
  '',
  'y',
  'yes',
  '20100',
  '20100.51',
  '20.100,5',
  '20100,5',
  '201005',
  '2,0100.5',
  '20100.5 ETH',
  '1',
])('%j is not the amount 20,100.5 USDC', (typed) => {
  expect(isAmount(typed, EXACT)).toBe(false)
})

test('a decimal comma is no separator of thousands', () => {
  expect(isAmount('20,1', total(201n * 10n ** 18n, ETHER))).toBe(false)
  expect(isAmount('201', total(201n * 10n ** 18n, ETHER))).toBe(true)
})

test('an amount in small units may be typed in ether too', () => {
  const small = total(20n * 10n ** 9n, ETHER)
  for (const typed of ['20', '20 gwei', '0.00000002', '0.00000002 ETH'])
    expect(isAmount(typed, small)).toBe(true)
  expect(isAmount('20 ETH', small)).toBe(false)
})
