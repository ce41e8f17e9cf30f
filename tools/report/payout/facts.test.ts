import { describe, expect, test } from 'vitest'
import { factsOf } from './facts.js'
import { ETH, FALSE_USDC, landed, line, someReport, USDC } from './payout.fixture.js'

const factsFor = (...lines: readonly ReturnType<typeof line>[]) => factsOf(someReport({ lines }))

describe('the totals', () => {
  test('are by currency, and two tokens of one symbol are two currencies', () => {
    const { totals } = factsFor(
      landed(2, { amount: 5n }),
      landed(3, { amount: 7n, money: ETH }),
      landed(4, { amount: 11n, money: FALSE_USDC }),
      landed(5, { amount: 13n, money: { ...USDC, token: USDC.token?.toLowerCase() as `0x${string}` } }),
    )
    expect(totals.map(({ money, sums }) => [money.token, sums.paid.amount, sums.paid.lines])).toEqual([
      [USDC.token, 18n, 2],
      [undefined, 7n, 1],
      [FALSE_USDC.token, 11n, 1],
    ])
  })

  test('count a line as paid only if it was paid', () => {
    const statuses = ['paid', 'reverted', 'failed', 'cancelled', 'unresolved', 'open'] as const
    const { totals, lines } = factsFor(
      ...statuses.map((status, index) => line(index + 2, { status, amount: 1n })),
    )
    expect(totals[0]?.sums).toEqual({
      paid: { lines: 1, amount: 1n },
      unpaid: { lines: 3, amount: 3n },
      unsure: { lines: 2, amount: 2n },
    })
    expect(lines).toEqual({ paid: 1, unpaid: 3, unsure: 2 })
  })
})

describe('the fees', () => {
  test('are the sum over all lines, with those that reverted, as a share of the native amounts', () => {
    const { fees } = factsFor(
      landed(2, { feeWei: 30n, money: ETH, amount: 10_000n }),
      landed(3, { feeWei: 70n, status: 'reverted' }),
    )
    expect(fees).toEqual({ wei: 100n, unknown: 0, shareOfPaid: 0.01 })
  })

  test('name the number of lines whose fee is not known, and have no share without native amounts', () => {
    const { fees } = factsFor(
      landed(2, { feeWei: undefined }),
      landed(3, { feeWei: 5n }),
      line(4, { status: 'open' }),
    )
    expect(fees).toEqual({ wei: 5n, unknown: 1, shareOfPaid: undefined })
  })
})

test('a transaction of several lines is counted once', () => {
  const { transactions, packedBy } = factsOf(someReport())
  expect({ transactions, packedBy }).toEqual({ transactions: 34, packedBy: 3 })
})

test('payments lie between the first and the last block that paid a line', () => {
  const { between } = factsFor(
    landed(2, { time: '2026-11-29T15:02:00Z', status: 'reverted' }),
    landed(3, { time: '2026-11-29T14:03:00Z' }),
    landed(4, { time: '2026-11-29T14:05:00+01:00' }),
  )
  expect(between).toEqual(['2026-11-29T13:05:00.000Z', '2026-11-29T14:03:00.000Z'])
  expect(factsFor(line(2, { status: 'open' })).between).toBeUndefined()
})

test('the largest file has facts', () => {
  const lines = Array.from<ReturnType<typeof line>>({ length: 200_000 }).fill(landed(2))
  expect(factsOf(someReport({ lines })).lines.paid).toBe(200_000)
})
