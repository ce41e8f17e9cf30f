import { describe, expect, test } from 'vitest'
import { START } from '../report.fixture.js'
import type { Data, Transaction } from './data.js'
import { findAll } from './find.js'
import { spanUnder } from './fingers.js'
import { gwei } from './history.js'
import { explorerUrl } from './names.js'
import { phasesOf, rowsInView } from './nonceSeries.js'
import { nonceBounds, panned, spanAround, wholeSpan, zoomed } from './nonceView.js'
import { casesText } from './problemTables.js'
import { after, time, timeMark, timeTitle } from './time.js'

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

function withNote(one: Transaction, note: string): Transaction {
  return {
    ...one,
    entries: one.entries.map((entry) => (entry.event === 'foreign' ? { ...entry, note } : entry)),
  }
}

describe('a search finds', () => {
  const hash = `0xabcdef12${'0'.repeat(52)}9876`
  const taken = `0x1111${'2'.repeat(60)}`
  const [one, two, three] = [
    { ...transaction([0, 'signed', 12]), id: '7', attempts: [{ hash, fees: [], at: START }] },
    { ...transaction([0, 'signed', 7]), id: 'Payment-2', attempts: [] },
    {
      ...withNote(transaction([0, 'signed', 33], [5, 'foreign', 33], [9, 'signed', 7]), taken),
      id: 'Payment-3',
      attempts: [],
    },
  ]
  const found = (text: string) => findAll({ transactions: [one, two, three] }, text)

  test.each([
    ['an id before a nonce, and then every transaction with the nonce', '7', [one, two, three]],
    ['a hash', hash.toUpperCase().replace('0X', '0x'), [one]],
    ['the beginning of a hash', '0xabcdef', [one]],
    ['a hash as the page shortens it', '0xabcdef…9876', [one]],
    ['the hash of the transaction that took a nonce', taken, [three]],
    ['a nonce', '12', [one]],
    ['a nonce that the transaction had before', '33', [three]],
    ['a part of an id, in any case, with spaces around it', ' payment ', [two, three]],
    ['nothing for an unknown text', 'nowhere', []],
    ['nothing for too few digits of a hash', '0xab', []],
    ['nothing for no text', ' ', []],
  ])('%s', (_, text, expected) => {
    expect(found(text)).toEqual(expected)
  })
})

describe('the visible time', () => {
  const data = { shownFrom: 1_000, endedAt: 11_000 } as Data
  const whole = wholeSpan(data)

  test('keeps the time under the pointer when it is zoomed', () => {
    expect(zoomed(whole, 0.5, 6_000, whole)).toEqual({ from: 3_500, to: 8_500 })
    expect(zoomed(whole, 0.5, 1_000, whole)).toEqual({ from: 1_000, to: 6_000 })
  })

  test('stays within the recording, and above a smallest length', () => {
    expect(zoomed({ from: 2_000, to: 9_000 }, 5, 3_000, whole)).toEqual(whole)
    expect(panned({ from: 2_000, to: 4_000 }, -9, whole)).toEqual({ from: 1_000, to: 3_000 })
    expect(panned({ from: 2_000, to: 4_000 }, 9, whole)).toEqual({ from: 9_000, to: 11_000 })
    const small = zoomed(whole, 1e-9, 6_000, whole)
    expect(small.to - small.from).toBe(20)
    const none = wholeSpan({ shownFrom: 5, endedAt: 5 })
    expect(none.to).toBeGreaterThan(none.from)
  })

  test('of a transaction has a margin on both sides', () => {
    const shown = transaction([2_000, 'signed', 4], [4_000, 'sealed', 4])
    const all = { startedAt: START, shownFrom: START, endedAt: START + 60_000 } as Data
    expect(spanAround({ ...shown, outcome: 'sealed' }, all)).toEqual({
      from: START + 1_500,
      to: START + 4_500,
    })
    expect(spanAround({ ...shown, outcome: 'open' }, all).to).toBe(all.endedAt)
  })

  test('has the nonces that are in it', () => {
    expect(nonceBounds([transaction([0, 'signed', 4]), transaction([0, 'signed', 9])])).toEqual({
      from: 3,
      to: 10,
    })
    expect(nonceBounds([])).toEqual({ from: 0, to: 1 })
  })
})

test('times are in UTC, and an axis names their dates', () => {
  expect(time(START)).toBe('2025-06-15 15:06:40.000')
  expect([1, 1_000, 60_000, 86_400_000].map((step) => timeMark(START, step))).toEqual([
    '15:06:40.000',
    '15:06:40',
    '15:06',
    '2025-06-15',
  ])
  expect(timeTitle(START, END)).toBe('Time (UTC) on 2025-06-15')
  expect(timeTitle(START, START + 86_400_000)).toBe('Time (UTC) on 2025-06-15 to 2025-06-16')
})

test('counts of cases are words, with the events if a case has several', () => {
  const text = (
    rows: number,
    times: number,
    states: Partial<Record<'open' | 'ended' | 'mended' | 'reported', number>>,
  ) =>
    casesText({
      kind: 'foreign',
      rows,
      times,
      states: { open: 0, ended: 0, mended: 0, reported: 0, ...states },
    })
  expect(text(1, 1, { open: 1 })).toBe('1 case, still open')
  expect(text(2, 2, { mended: 2 })).toBe('2 cases, both repaired')
  expect(text(942, 1_500, { mended: 942 })).toBe('942 cases in 1,500 events, all repaired')
  expect(text(3, 3, { open: 1, mended: 2 })).toBe('3 cases: 1 still open, 2 repaired')
})

test('links go to the explorer of the chain, and only for hexadecimal text', () => {
  const lane = { address: '0xAB', chain: 'Base (chain 8453)', explorer: 'https://basescan.org/' }
  expect(explorerUrl(lane, 'tx', '0xab')).toBe('https://basescan.org/tx/0xab')
  expect(explorerUrl(lane, 'address', '0xAB')).toBe('https://basescan.org/address/0xAB')
  expect(explorerUrl(lane, 'tx', 'javascript:alert(1)')).toBeUndefined()
  expect(explorerUrl({ ...lane, explorer: undefined }, 'tx', '0xab')).toBeUndefined()
})

test('two fingers show the span that has the times under them where they are', () => {
  expect(spanUnder([100, 200], [0, 50], 100)).toEqual({ from: 100, to: 300 })
  expect(spanUnder([100, 200], [25, 75], 100)).toEqual({ from: 50, to: 250 })
  expect(spanUnder([100, 200], [10, 60], 100)).toEqual({ from: 80, to: 280 })
})
