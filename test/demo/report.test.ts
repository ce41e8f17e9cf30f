import { createColors } from 'picocolors'
import { expect, test } from 'vitest'
import { type DemoResult, renderReport } from './result.js'

const RESULT: DemoResult = {
  requested: 1_000,
  sealed: 998,
  reverted: 100,
  failed: 2,
  gaps: 0,
  duplicates: 0,
  lost: 0,
  contradictions: 0,
  noops: 1,
  foreign: 3,
  ok: true,
  acceptedPerSecond: 812.5,
  rpcCallsPerTransaction: 2.04,
  httpRequestsPerTransaction: 0.05,
  preconfirmedMsP50: 640,
  preconfirmedMsP99: 1_940,
  sealedMsP50: 2_000,
  sealedMsP99: 4_100,
  timeMs: 5_234,
  timedOut: false,
  seed: 7,
  node: 'devnet',
  account: '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
  contract: '0x5FbDB2315678afecb367f032d93F642f64180aa3',
  blocks: { first: 1, last: 9 },
  faults: {
    preset: 'default',
    struck: [
      { fault: 'lost request', times: 3, transactions: 120, example: 'nonce 17', repaired: '120 sent again' },
    ],
  },
  events: { rebroadcast: 120 },
  holds: [],
  senderError: null,
  failures: { 'PREPARE_REVERTED: it reverts': 2 },
  problems: [],
}

const plain = (changes: Partial<DemoResult> = {}) =>
  renderReport({ ...RESULT, ...changes }, createColors(false))

test('the report contains the time, the rates, the latencies, each fault with its repair, and the verdict', () => {
  const text = plain()
  for (const expected of [
    '1,000 transactions',
    'seed 7',
    '5.2 s',
    '812.5 per second',
    '2.04 calls in 0.05 HTTP requests',
    'median 640 ms, p99 1.9 s',
    'median 2.0 s, p99 4.1 s',
    '998 sealed (100 of which reverted), 2 failed',
    '2 × PREPARE_REVERTED',
    'gaps 0, duplicates 0, lost 0',
    'sealed blocks 1 to 9',
  ]) {
    expect(text).toContain(expected)
  }
  expect(text).toMatch(/lost request +3 +nonce 17 +120 sent again/)
})

test('the report has escape sequences only with colours', () => {
  const esc = String.fromCharCode(27)
  expect(plain()).not.toContain(esc)
  expect(renderReport(RESULT, createColors(true))).toContain(esc)
})

test('a failed verdict shows the findings, and the timeout', () => {
  const text = plain({ ok: false, lost: 1, timedOut: true, problems: ['item 3 (call) is lost: stuck'] })
  expect(text).toContain('lost 1')
  expect(text).toContain('item 3 (call) is lost: stuck')
  expect(text).toContain('did not end in time')
})

test('an unmeasured value is not shown as a number', () => {
  const text = plain({ preconfirmedMsP50: null, acceptedPerSecond: null })
  expect(text).toContain('unknown per second')
  expect(text).toMatch(/to preconfirmed +not seen/)
})
