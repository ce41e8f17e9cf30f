import { describe, expect, test } from 'vitest'
import { START } from '../report.fixture.js'
import type { Data, Transaction } from './data.js'
import { gwei } from './history.js'
import { phasesOf, rowsInView } from './nonceSeries.js'
import { after } from './time.js'
import { find } from './tools.js'

const END = START + 10_000

function transaction(...entries: readonly (readonly [number, string, number?])[]): Transaction {
  return {
    index: 0,
    id: 'a',
    lane: 0,
    outcome: 'open',
    attempts: [{ hash: '0xAB', fees: [], at: START }],
    entries: entries.map(([at, event, nonce]) => ({ at: START + at, event, nonce, note: undefined })),
  }
}

function barsOf(...entries: readonly (readonly [number, string, number?])[]): string[] {
  const { phases, rests } = phasesOf(transaction(...entries), END)
  return [
    ...phases.map(({ stage, nonce, from, to }) => `${stage} at ${nonce}, ${from - START} to ${to - START}`),
    ...rests.map(({ kind, nonce, at }) => `${kind} at ${nonce}, ${at - START}`),
  ]
}

describe('the bars of a transaction', () => {
  test('show its stages in order, at its nonce', () => {
    expect(
      barsOf([0, 'queued'], [5, 'signed', 7], [9, 'accepted', 7], [20, 'preconfirmed', 7], [90, 'sealed', 7]),
    ).toEqual([
      'queued at 7, 0 to 5',
      'signed at 7, 5 to 9',
      'accepted at 7, 9 to 20',
      'preconfirmed at 7, 20 to 90',
      'sealed at 7, 90',
    ])
  })

  test('continue at the new nonce after a foreign transaction took the old one', () => {
    expect(
      barsOf([0, 'queued'], [5, 'signed', 7], [30, 'foreign', 7], [50, 'signed', 9], [90, 'sealed', 9]),
    ).toEqual([
      'queued at 7, 0 to 5',
      'signed at 7, 5 to 30',
      'queued at 9, 30 to 50',
      'signed at 9, 50 to 90',
      'sealed at 9, 90',
    ])
  })

  test('start again when its block leaves the chain', () => {
    expect(barsOf([0, 'accepted', 7], [10, 'sealed', 7], [20, 'reorged', 7], [40, 'sealed', 7])).toEqual([
      'accepted at 7, 0 to 10',
      'accepted at 7, 20 to 40',
      'sealed at 7, 10',
      'sealed at 7, 40',
    ])
  })

  test('last until the end for an open transaction, and are absent without a nonce', () => {
    expect(barsOf([0, 'accepted', 7], [5, 'rebroadcast', 7])).toEqual(['accepted at 7, 0 to 10000'])
    expect(barsOf([0, 'queued'], [5, 'failed'])).toEqual([])
  })

  test('have no negative length if a clock was set back', () => {
    expect(barsOf([10, 'signed', 1], [0, 'accepted', 1], [5, 'sealed', 1])).toEqual([
      'signed at 1, 10 to 10',
      'accepted at 1, 0 to 5',
      'sealed at 1, 5',
    ])
  })
})

describe('the rows that are drawn', () => {
  const all = Array.from({ length: 1_000 }, (_, nonce) => transaction([nonce, 'signed', nonce]))

  test('are all rows in view, up to the limit', () => {
    const some = all.filter((_, index) => index >= 500 && index < 550)
    expect(rowsInView(some, new Set(), 100)).toEqual(some)
  })

  test('are the rows with problems and an even selection of the others, above the limit', () => {
    const marked = new Set(all.slice(0, 10))
    const rows = rowsInView(all, marked, 100)
    expect(rows).toHaveLength(100)
    for (const one of marked) expect(rows).toContain(one)
    const later = rows.filter((one) => all.indexOf(one) >= 500)
    expect(later.length).toBeGreaterThan(40)
  })
})

test.each([
  ['1', '0.000000001'],
  ['3000000000', '3'],
  ['1500000000', '1.5'],
  ['123000000001', '123.000000001'],
])('%s wei are %s gwei', (wei, text) => {
  expect(gwei(wei)).toBe(text)
})

test('shows time differences in two parts, with their sign', () => {
  expect([0, 999, 1_400, 65_000, 3_600_000, -20].map(after)).toEqual([
    '+0 ms',
    '+999 ms',
    '+1.4 s',
    '+1 min 5 s',
    '+1 h',
    '−20 ms',
  ])
})

test('finds a transaction by its id, its hash, its nonce or a part of its id', () => {
  const [one, two] = [
    { ...transaction([0, 'signed', 12]), id: '7' },
    { ...transaction([0, 'signed', 7]), id: 'Payment-2', attempts: [] },
  ]
  const data = { transactions: [one, two] } as unknown as Data
  expect(find(data, '7')).toBe(one)
  expect(find(data, '0xab')).toBe(one)
  expect(find(data, '12')).toBe(one)
  expect(find(data, 'payment')).toBe(two)
  expect(find(data, 'nowhere')).toBeUndefined()
  expect(find(data, '')).toBeUndefined()
})
