import { keccak256, toHex } from 'viem'
import { expect, test } from 'vitest'
import type { FaultEntry, FaultRule } from '../../tools/devnet/index.js'
import type { ReportedItem } from './check.js'
import { type FaultRun, faultRows } from './faultRows.js'
import { createRecord, type ItemRecord } from './records.js'

const hashOf = (text: string) => keccak256(toHex(text))

function run(
  items: number,
): FaultRun & { records: ItemRecord[]; reported: ReportedItem[]; log: FaultEntry[] } {
  const records = Array.from({ length: items }, (_, item) =>
    createRecord({ item, kind: 'transfer', request: { value: 1n } }),
  )
  for (const [nonce, record] of records.entries())
    record.attempts.push({ nonce, hash: hashOf(`first ${nonce}`) })
  const reported = records.map(
    ({ attempts }, item): ReportedItem => ({
      item,
      outcome: 'landed',
      status: 'success',
      ...attempts[0]!,
    }),
  )
  const notified = {
    counts: new Map(),
    foreign: new Set<number>(),
    noops: new Set<number>(),
    holds: new Set<never>(),
    firstError: undefined,
  }
  return { log: [], records, reported, notified }
}

const entry = (rule: FaultRule, strike: number, nonce?: number): FaultEntry => ({
  fault: rule.fault,
  rule,
  strike,
  method: 'eth_sendRawTransaction',
  atMs: 0,
  ...(nonce === undefined ? {} : { nonce, hash: hashOf(`first ${nonce}`) }),
})

test('counts a faulted request once, with all its transactions', () => {
  const one = run(3)
  const rule: FaultRule = { fault: 'lostRequest' }
  one.log.push(entry(rule, 1, 0), entry(rule, 1, 1), entry(rule, 2, 2))
  expect(faultRows(one)).toMatchObject([
    { fault: 'lost request', times: 2, transactions: 3, example: 'nonce 0' },
  ])
})

test('shows two rules of one kind as two rows', () => {
  const one = run(2)
  one.log.push(
    entry({ fault: 'httpStatus', status: 429 }, 1, 0),
    entry({ fault: 'httpStatus', status: 503 }, 2, 1),
  )
  expect(faultRows(one).map(({ fault }) => fault)).toEqual(['HTTP 429', 'HTTP 503'])
})

test('classifies the repair of each transaction: none, the same bytes again, a higher bid, another nonce', () => {
  const one = run(5)
  const rule: FaultRule = { fault: 'evict' }
  one.records[1]!.rebroadcasts = 2
  one.reported[2] = { item: 2, outcome: 'landed', status: 'success', nonce: 2, hash: hashOf('bumped') }
  one.reported[3] = { item: 3, outcome: 'landed', status: 'success', nonce: 9, hash: hashOf('moved') }
  one.reported[4] = { item: 4, outcome: 'notExecuted', why: 'REJECTED' }
  for (const nonce of [0, 1, 2, 3, 4]) one.log.push(entry(rule, nonce + 1, nonce))
  expect(faultRows(one)[0]?.repaired.split(', ')).toEqual([
    '1 landed as they were',
    '1 sent again',
    '1 landed with a higher bid',
    '1 signed again for another nonce',
    '1 ended as never executed',
  ])
})

test('shows retried reads, and transactions that a failed estimation ended', () => {
  const one = run(1)
  one.reported[0] = { item: 0, outcome: 'notExecuted', why: 'PREPARE_REVERTED: it reverts' }
  one.log.push(entry({ fault: 'malformed' }, 1), entry({ fault: 'rpcError', method: 'eth_estimateGas' }, 2))
  expect(faultRows(one)).toMatchObject([
    { fault: 'answer cut short', transactions: 0, repaired: 'read again' },
    { fault: 'gas estimation reverts', repaired: 'estimated again; 1 ended as never executed' },
  ])
})
