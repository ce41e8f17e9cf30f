import { describe, expect, test } from 'vitest'
import { ETH, line, someReport, USDC } from './payout.fixture.js'
import { amountText, feeText, hasOwnIds, longTime, reasonOf, utcTime } from './words.js'

describe('an amount', () => {
  test.each([
    [1_250_000_000n, USDC, '1,250.00'],
    [1n, USDC, '0.000001'],
    [0n, USDC, '0.00'],
    [1_234_567_890_123n, USDC, '1,234,567.890123'],
    [5n * 10n ** 17n, ETH, '0.50'],
    [123_456_789_012_345_678_901_234n, ETH, '123,456.789012345678901234'],
  ])('%s of the smallest unit is %3$s, exactly', (amount, money, text) => {
    expect(amountText(amount, money)).toBe(text)
  })

  test('of a token without decimals has no point', () => {
    expect(amountText(1_250n, { decimals: 0 })).toBe('1,250')
    expect(amountText(12n, { decimals: 1 })).toBe('1.2')
  })
})

test.each([
  [0n, '0'],
  [21_000n * 10n ** 9n, '0.000021'],
  [1_234_567_891_234n, '0.0000012346'],
  [999_999_999n, '0.000000001'],
  [10n ** 18n + 1n, '1'],
])('a fee of %s wei is rounded to %s', (wei, text) => {
  expect(feeText(wei)).toBe(text)
})

test('a time is shown in UTC, in whichever zone it was given', () => {
  expect(utcTime('2026-11-30T01:02:11.900+02:00')).toBe('2026-11-29 23:02:11')
  expect(longTime('2026-11-29T14:02:11Z')).toEqual(['29 November 2026', '14:02'])
  expect(utcTime('yesterday')).toBeUndefined()
  expect(utcTime(undefined)).toBeUndefined()
})

test('the reason of a line is in plain words, beside the reported message', () => {
  const known = reasonOf(line(1, { status: 'failed', error: 'STARVED: The account cannot pay.' }))
  expect(known.plain).toContain('enough money')
  expect(known.reported).toBe('STARVED: The account cannot pay.')
  for (const error of ['toString: a name of every object', 'CONSTRUCTOR: unknown', 'no code'])
    expect(reasonOf(line(1, { status: 'failed', error }))).toEqual({ plain: undefined, reported: error })
  expect(reasonOf(line(1, { status: 'open' })).plain).toBe('Its end was not seen.')
})

test.each(['REVERTED: It executed and reverted.', 'PREPARE_REVERTED: The gas estimate reverts.'])(
  'the reason of a line that a contract refuses follows its money: %s',
  (error) => {
    const plain = (money: typeof ETH) => reasonOf(line(1, { status: 'failed', error, money })).plain
    expect(plain(ETH)).toContain('recipient is a contract, which refuse')
    expect(plain(ETH)).not.toContain('token')
    expect(plain(USDC)).toContain('contract of the token')
  },
)

test('ids that txlane made are not those of the file', () => {
  const ids = (...all: string[]) => hasOwnIds(someReport({ lines: all.map((id) => line(2, { id })) }))
  expect(ids('0123456789abcdef-1', 'fedcba9876543210-12')).toBe(false)
  expect(ids('0123456789abcdef-1', 'invoice-7')).toBe(true)
})
