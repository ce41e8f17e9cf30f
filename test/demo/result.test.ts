import { expect, test } from 'vitest'
import { createRecord, type ItemRecord } from './records.js'
import { failuresOf, measure } from './result.js'

function records(count: number, change: (record: ItemRecord, index: number) => void): ItemRecord[] {
  return Array.from({ length: count }, (_, index) => {
    const record = createRecord({ item: index + 1, kind: 'transfer', request: { value: 1n } })
    change(record, index)
    return record
  })
}

test('the accept rate covers the time from the first send to the last acceptance', () => {
  const burst = records(101, (record, index) => {
    record.sentAtMs = 1_000
    if (index < 100) record.acceptedAtMs = 1_000 + (index + 1) * 5
  })
  expect(measure(burst, { requests: 0, calls: 0 }).acceptedPerSecond).toBe(200)
})

test('latencies start at each send, and only include transactions that reached the stage', () => {
  const burst = records(4, (record, index) => {
    record.sentAtMs = 1_000 * (index + 1)
    if (index > 0) record.preconfirmedAtMs = record.sentAtMs + 100 * index
    if (index > 2) record.sealedAtMs = record.sentAtMs + 2_000
  })
  expect(measure(burst, { requests: 0, calls: 0 })).toMatchObject({
    preconfirmedMsP50: 200,
    preconfirmedMsP99: 300,
    sealedMsP50: 2_000,
    sealedMsP99: 2_000,
  })
})

test('calls and requests are divided by the requested transactions, and an unreached stage is not measured', () => {
  const burst = records(8, () => undefined)
  expect(measure(burst, { requests: 2, calls: 12 })).toMatchObject({
    rpcCallsPerTransaction: 1.5,
    httpRequestsPerTransaction: 0.25,
    acceptedPerSecond: null,
    sealedMsP50: null,
  })
})

test('failures are counted by their reason', () => {
  expect(
    failuresOf([
      { item: 1, outcome: 'notExecuted', why: 'REJECTED: no' },
      { item: 2, outcome: 'notExecuted', why: 'REJECTED: no' },
      { item: 3, outcome: 'open', why: 'stuck' },
    ]),
  ).toEqual({ 'REJECTED: no': 2 })
})
