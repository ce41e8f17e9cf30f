import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import type { Hash } from 'viem'
import { describe, expect, test } from 'vitest'
import { hashOf } from '../report.fixture.js'
import { accountingCsv } from './accounting.js'
import { ACCOUNT, ETH, HOSTILE, landed, line, someReport } from './payout.fixture.js'
import { feeShares, type PayoutLine } from './payout.js'

type Row = Readonly<Record<string, string>>

function rowsOf(...lines: readonly PayoutLine[]): Row[] {
  return parse(accountingCsv(someReport({ lines })), { columns: true, bom: true })
}

describe('the accounting file', () => {
  test('begins with date, recipient, token, amount, fee, hash and block', () => {
    const [head = ''] = accountingCsv(someReport({ lines: [] })).split('\r\n')
    expect(head).toMatch(/^\ufeffdate_utc,recipient,token,amount,fee,hash,block,/)
  })

  test('has the exact values of a paid line', () => {
    const paid = landed(7, {
      amount: 1_234_567_000_001n,
      time: '2026-11-30T01:02:11.000+02:00',
      feeWei: 1_000_000_000_000_000_001n,
      block: 38_000_001n,
      name: 'anna.eth',
      note: 'Gehalt, November',
    })
    expect(rowsOf(paid)).toEqual([
      {
        date_utc: '2026-11-29 23:02:11',
        recipient: paid.to,
        token: 'USDC',
        amount: '1234567.000001',
        fee: '1.000000000000000001',
        hash: paid.hash,
        block: '38000001',
        fee_currency: 'ETH',
        name: 'anna.eth',
        id: 'invoice-0007',
        note: 'Gehalt, November',
        status: 'paid',
        amount_in_file: '1234567.000001',
        token_address: paid.money.token,
        line: '7',
        chain_id: '8453',
        account: ACCOUNT,
      },
    ])
  })

  test('has no exponent and no grouping, from a wei to the largest amount', () => {
    const amounts = [1n, 2n ** 256n - 1n].map((amount) => landed(2, { money: ETH, amount }))
    expect(rowsOf(...amounts).map(({ amount }) => amount)).toEqual([
      '0.000000000000000001',
      '115792089237316195423570985008687907853269984665640564039457.584007913129639935',
    ])
  })

  test('books 0 for a line that was not paid, and the fee of one that reverted', () => {
    const rows = rowsOf(
      landed(2, { status: 'reverted', feeWei: 21_000n }),
      line(3, { status: 'failed' }),
      line(4, { status: 'cancelled' }),
    )
    expect(rows.map(({ amount, fee, amount_in_file }) => [amount, fee, amount_in_file])).toEqual([
      ['0', '0.000000000000021', '1250'],
      ['0', '', '1250'],
      ['0', '', '1250'],
    ])
  })

  test('books no amount for a line whose end is not known', () => {
    const rows = rowsOf(line(2, { status: 'open' }), line(3, { status: 'unresolved' }))
    expect(rows.map(({ amount, status }) => [amount, status])).toEqual([
      ['', 'open'],
      ['', 'unresolved'],
    ])
  })

  test('quotes separators, quotes and line breaks, and keeps every script', () => {
    const notes = ['a,b', 'say "yes"', 'two\r\nlines', HOSTILE, 'ノート，مكافأة🎉', '1,5; 2']
    expect(rowsOf(...notes.map((note) => landed(2, { note }))).map(({ note }) => note)).toEqual(notes)
  })

  test.each(['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1', '\n=1', '＝1+1', '＋1', '－1', '＠a'])(
    'has no formula in any cell: %j',
    (text) => {
      const [row] = rowsOf(landed(2, { note: text, name: text, id: text, money: { ...ETH, symbol: text } }))
      for (const cell of Object.values(row ?? {})) expect(cell).not.toMatch(/^[=+\-@\t\r\n＝＋－＠]/)
      expect(row?.note).toBe(`'${text}`)
    },
  )

  test('has the fee of a transaction once, as the sum of the shares of its lines', () => {
    const shares = feeShares(1_000n, 3)
    const lines = shares.map((feeWei, index) =>
      landed(index + 2, { hash: hashOf(9) as Hash, feeWei, sharedBy: 3 }),
    )
    expect(rowsOf(...lines).map(({ fee }) => fee)).toEqual([
      '0.000000000000000334',
      '0.000000000000000333',
      '0.000000000000000333',
    ])
  })
})

test('the shares of a fee add up to it, and differ by at most a wei', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 2n ** 128n }), fc.integer({ min: 1, max: 500 }), (fee, lines) => {
      const shares = feeShares(fee, lines)
      expect(shares).toHaveLength(lines)
      expect(shares.reduce((sum, share) => sum + share, 0n)).toBe(fee)
      expect((shares[0] ?? 0n) - (shares.at(-1) ?? 0n)).toBeLessThanOrEqual(1n)
    }),
  )
})
