import { encodeFunctionData, erc20Abi, pad, toHex } from 'viem'
import { expect, test } from 'vitest'
import { feeShares } from '../../../report/payout/payout.js'
import type { Money, Row } from '../file/rows.js'
import { packableBy, unitsOf } from './units.js'

const ETH: Money = { kind: 'native', symbol: 'ETH' }
const COIN: Money = { kind: 'token', address: pad('0xc0', { size: 20 }), symbol: 'COIN', decimals: 6 }
const PAYER = pad('0xaa', { size: 20 })
const CONTRACT = pad('0xdd', { size: 20 })

function row(line: number, money: Money = ETH, more: Partial<Row> = {}): Row {
  const to = more.to ?? pad(toHex(0xbeef00 + line), { size: 20 })
  const data = encodeFunctionData({ abi: erc20Abi, functionName: 'transfer', args: [to, 5n] })
  const request = money.kind === 'native' ? { to, value: 5n } : { to: money.address, value: 0n, data }
  return { line, id: `${line}`, to, amount: 5n, money, request, cells: [], ...more }
}

const call = (line: number) => row(line, ETH, { request: { to: CONTRACT, value: 0n, data: '0x1234' } })

function dividedBy(size: number, rows: readonly Row[]): string[] {
  const { mayPack } = packableBy(rows, size, [PAYER, CONTRACT])
  return [...unitsOf(rows, () => size, mayPack)].map(
    ({ kind, rows: own }) => `${kind} ${own.map(({ line }) => line).join(' ')}`,
  )
}

test('packs native currency and each token on their own, each pack where it is full', () => {
  const rows = [row(1), row(2, COIN), row(3), row(4, COIN), row(5), row(6, COIN), row(7, COIN), row(8, COIN)]
  expect(dividedBy(2, rows)).toEqual(['pack 1 3', 'pack 2 4', 'pack 6 7', 'alone 5', 'pack 8'])
})

test('sends a call alone, after all payments above it and before those below', () => {
  expect(dividedBy(3, [row(1), row(2), call(3), row(4), row(5)])).toEqual(['pack 1 2', 'alone 3', 'pack 4 5'])
})

test('sends a row alone that a contract cannot pay: with its own gas limit, or to a party of the transaction', () => {
  const rows = [
    row(1),
    row(2, ETH, { request: { to: PAYER, value: 5n, gas: 60_000n } }),
    row(3, ETH, { to: PAYER }),
    row(4, ETH, { to: CONTRACT }),
    row(5),
  ]
  expect(dividedBy(9, rows)).toEqual(['alone 2', 'alone 3', 'alone 4', 'pack 1 5'])
})

test('sends the rows of a token alone if the approval makes them no fewer transactions', () => {
  expect(dividedBy(9, [row(1, COIN), row(2, COIN)])).toEqual(['alone 1', 'alone 2'])
  expect(dividedBy(9, [row(1, COIN), row(2, COIN), row(3, COIN)])).toEqual(['pack 1 2 3'])
})

test.each([
  [10n, 3, [4n, 3n, 3n]],
  [2n, 4, [1n, 1n, 0n, 0n]],
  [9n, 3, [3n, 3n, 3n]],
] as const)('a fee of %i is divided among %i lines without a rest', (fee, count, shares) => {
  expect(feeShares(fee, count)).toEqual(shares)
})
