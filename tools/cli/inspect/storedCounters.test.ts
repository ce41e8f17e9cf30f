import { expect, test } from 'vitest'
import { live } from '../../../src/ledger/slotWith.js'
import type { StoredCounter } from '../../../src/types/laneReports.js'
import { json, lengthOf } from '../shared/output.js'
import { countersText, lookOf } from './storedCounters.js'

const CONTRACT = `0x${'5a'.repeat(20)}` as const
const ACCOUNT = `0x${'ac'.repeat(20)}` as const
const SLOT = `0x${'50'.repeat(32)}` as const
const hashOf = (digit: string) => `0x${digit.repeat(64)}` as const

const attempt = (digit: string) => ({ hash: hashOf(digit), raw: '0x' }) as never
const committed = (nonce: number, ...digits: readonly string[]) =>
  live(nonce, 0, { attempts: digits.map(attempt), end: undefined })
const reserved = { state: 'reserved', nonce: 6, attempts: [], claim: 'x', token: 0, committing: 0 } as const

function stored(
  counter: Partial<StoredCounter['counter']>,
  more: Partial<StoredCounter> = {},
): StoredCounter {
  return {
    lane: { chainId: 1, genesisHash: hashOf('1'), address: `0x${'1'.repeat(40)}` },
    counter: { kind: 'safe', contract: CONTRACT, slot: SLOT, ...counter },
    holder: undefined,
    leaseMs: undefined,
    cursor: 8,
    slots: [],
    ...more,
  }
}

const safe = stored(
  {},
  {
    slots: [committed(5, 'a', 'b'), reserved, live(7, 0, { attempts: [], end: 'void' })],
    holder: 'p1',
    leaseMs: 8_200,
  },
)
const operations = stored({ kind: 'entryPoint', account: ACCOUNT, key: 3n }, { slots: [committed(7, 'c')] })

const textOf = (all: readonly StoredCounter[], width?: number) => countersText('x.db', all.map(lookOf), width)

test('shows the next nonce of a Safe, each nonce that is out, and the process that assigns them', () => {
  expect(textOf([safe], 120)).toBe(
    [
      '',
      'Nonces of contracts in x.db: 1 counter',
      '',
      `contract     ${CONTRACT}`,
      'counts       transactions of a Safe',
      'next nonce   8',
      'outstanding  5: committed, with the payload, after 1 earlier payload',
      `             ${hashOf('b')}`,
      '             6: handed out, no payload is committed yet',
      '             7: to be used up by a payload that does nothing',
      'assigned by  process p1, whose lease lasts 9 s unless it is renewed',
      '',
    ].join('\n'),
  )
})

test('shows the account and the key of user operations, whose nonces contain the key', () => {
  const text = textOf([operations], 120)
  expect(text).toContain(`account      ${ACCOUNT}\nkey          3\n`)
  expect(text).toContain(`next nonce   ${(3n << 64n) | 8n}\noutstanding  ${(3n << 64n) | 7n}: committed`)
  expect(text).toContain('assigned by  no process now\n')
})

test('shows the slot of any other counter, and that none of its nonces was handed out', () => {
  const text = textOf([stored({ kind: 'storage' }, { cursor: undefined })], 120)
  expect(text).toContain(`slot         ${SLOT}\nnext nonce   none was handed out yet\noutstanding  none\n`)
})

test('omits nonces that a block has used, and says how many more there are', () => {
  const used = { ...committed(1, 'a'), state: 'used' } as never
  const many = Array.from({ length: 20 }, (_, at) => committed(2 + at, 'b'))
  expect(textOf([stored({}, { slots: [used, ...many] })], 120)).toContain(
    '             and 12 further nonces\n',
  )
  expect(lookOf(stored({}, { slots: [used, ...many] })).outstanding).toHaveLength(20)
  expect(textOf(Array.from({ length: 11 }, () => safe))).toContain(
    '\nAnd 3 further counters: --json lists all.\n',
  )
  expect(textOf([])).toBe('')
})

test.each([60, 80, 120])('fits a terminal of %i columns', (width) => {
  const text = textOf([safe, operations, stored({ kind: 'storage' })], width)
  expect(text.split('\n').filter((line) => lengthOf(line) > width)).toEqual([])
})

test('is one JSON object for scripts, with whole hashes and decimal nonces', () => {
  expect(JSON.parse(json(lookOf(operations)))).toEqual({
    kind: 'entryPoint',
    contract: CONTRACT,
    slot: SLOT,
    account: ACCOUNT,
    key: '3',
    nextNonce: String((3n << 64n) | 8n),
    outstanding: [{ nonce: String((3n << 64n) | 7n), state: 'committed', payloads: [hashOf('c')] }],
  })
})
