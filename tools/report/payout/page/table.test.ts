import { describe, expect, test } from 'vitest'
import { ETH, landed, line, someReport, USDC } from '../payout.fixture.js'
import type { PayoutLine } from '../payout.js'
import { createLines, foundText, type View } from './table.js'

const ALL: View = { text: '', outcome: undefined, column: 'line', descending: false }

const numbers = (lines: readonly PayoutLine[], view: Partial<View>) =>
  createLines(lines)
    .select({ ...ALL, ...view })
    .map(({ line }) => line)

describe('a search', () => {
  const lines = [
    landed(2, { note: 'Müller, Gehalt', amount: 1_250_000_000n }),
    landed(3, { name: 'anna.eth', note: 'Salary' }),
    line(4, { status: 'failed', error: 'STARVED: The account cannot pay.', amount: 3n }),
  ]

  test.each([
    ['MULLER', [2]],
    ['anna', [3]],
    ['1250.00', [2, 3]],
    ['1,250', [2, 3]],
    ['not paid', [4]],
    ['starved', [4]],
    ['invoice-0003', [3]],
    ['salary anna', [3]],
    ['salary müller', []],
    ['  ', [2, 3, 4]],
    ['.*', []],
  ])('for %j finds the lines %j', (text, found) => {
    expect(numbers(lines, { text })).toEqual(found)
  })

  test('finds an address and a hash in any case', () => {
    const [one] = lines
    expect(numbers(lines, { text: one?.to.toUpperCase() ?? '' })).toEqual([2])
    expect(numbers(lines, { text: one?.hash ?? '' })).toEqual([2])
  })

  test('finds all lines of a transaction', () => {
    const { lines: some } = someReport()
    expect(numbers(some, { text: some[31]?.hash ?? '' })).toEqual([32, 33, 34])
  })

  test('is within the chosen outcome', () => {
    expect(numbers(lines, { outcome: 'unpaid' })).toEqual([4])
    expect(numbers(lines, { outcome: 'unpaid', text: 'anna' })).toEqual([])
  })
})

describe('the order', () => {
  const lines = [
    landed(2, { amount: 900_000n, money: USDC }),
    landed(3, { amount: 7n, money: ETH, feeWei: undefined }),
    landed(4, { amount: 1_000_000n, money: USDC, feeWei: 1n }),
    landed(5, { amount: 10n ** 18n, money: ETH, feeWei: 10n ** 20n }),
    line(6, { amount: 20_000_000n, money: USDC, status: 'failed' }),
  ]

  test('of amounts is numeric within a currency, in both directions', () => {
    expect(numbers(lines, { column: 'amount' })).toEqual([2, 4, 6, 3, 5])
    expect(numbers(lines, { column: 'amount', descending: true })).toEqual([6, 4, 2, 5, 3])
  })

  test('has lines without a value at the end, in both directions', () => {
    expect(numbers(lines, { column: 'fee' })).toEqual([4, 2, 5, 3, 6])
    expect(numbers(lines, { column: 'fee', descending: true })).toEqual([5, 2, 4, 3, 6])
  })

  test('of the status begins with the lines that need attention', () => {
    const { lines: some } = someReport()
    expect(numbers(some, { column: 'status' }).slice(0, 8)).toEqual([22, 40, 41, 7, 11, 12, 14, 2])
  })

  test('of lines is the order of the file, or its reverse', () => {
    expect(numbers(lines, { column: 'line', descending: true })).toEqual([6, 5, 4, 3, 2])
  })
})

describe('the sentence about the lines found', () => {
  const text = (view: Partial<View>) => {
    const { lines } = someReport()
    const whole = { ...ALL, ...view }
    return foundText(createLines(lines).select(whole), lines.length, whole)
  }

  test('sums their amounts by currency', () => {
    expect(text({ text: 'person' })).toBe('4 of 40 lines; paid in them: 3,999.96 USDC.')
    expect(text({ outcome: 'unpaid' })).toBe('4 of 40 lines; nothing of them is paid.')
    expect(text({})).toBe('40 lines.')
  })

  test('says that no line was found', () => {
    expect(text({ text: ' nowhere ' })).toBe('There is no line with “nowhere”.')
    expect(text({ text: 'person', outcome: 'unsure' })).toBe(
      'There is no line with “person” among the chosen ones.',
    )
  })
})
