import { readFileSync } from 'node:fs'
import { context, SpanStatusCode } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createTelemetry, type Telemetry } from '../../test/support/telemetry.js'
import { TxlaneError, type TxlaneErrorCode } from '../errors/base.js'
import { createEmitter, eventNames } from '../lane/emitter.js'
import type { Clock } from '../platform/clock.js'
import type { Health, SenderEvents, Stage, Tx } from '../types/index.js'
import { type InstrumentOptions, instrumentIn, type Watched } from './instrument.js'

const ADDRESS = '0x00000000000000000000000000000000000000aa'
const CHAIN = { 'txlane.chain.id': 31337, 'txlane.address': ADDRESS }

let telemetry: Telemetry
let nowMs: number
const clock: Clock = { now: () => nowMs, wallNow: () => 0, setTimer: () => () => {} }

beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
})
afterAll(() => context.disable())
beforeEach(() => {
  telemetry = createTelemetry()
  nowMs = 1_000_000
})
afterEach(() => telemetry[Symbol.asyncDispose]())

type FakeTx = Omit<Tx, 'stage' | 'nonce' | 'hash' | 'attempts'> & {
  -readonly [key in 'stage' | 'nonce' | 'hash' | 'attempts']: Tx[key]
}

function txOf(id: string): FakeTx {
  const tx = { id, stage: 'queued', nonce: undefined, hash: undefined, attempts: [] }
  return tx as unknown as FakeTx
}

/** A sender that does nothing by itself. */
function scripted(options: InstrumentOptions = {}) {
  const events = createEmitter({ chainId: 31_337, address: ADDRESS }, (error) => {
    throw error
  })
  const health: Health = { live: true, ready: true, inFlight: 0, queued: 0, reasons: [] }
  const sender = { chain: { id: 31337 }, address: ADDRESS, on: events.on, health: () => health }
  const { meterProvider, tracerProvider } = telemetry
  const off = instrumentIn(clock, sender as unknown as Watched, {
    meterProvider,
    tracerProvider,
    ...options,
  })
  return {
    events,
    health,
    off,
    report(tx: FakeTx, stage: Stage, afterMs = 0) {
      nowMs += afterMs
      tx.stage = stage
      events.emit(stage as 'queued', { tx: tx as Tx })
    },
    fail(tx: FakeTx, code: TxlaneErrorCode) {
      tx.stage = 'failed'
      events.emit('failed', { tx: tx as Tx, error: new TxlaneError('no', { code, fate: 'notExecuted' }) })
    },
  }
}

const stage = (name: string) => ({ 'txlane.stage': name })

describe('counters and times', () => {
  test('each stage counts once per transaction, with the time since it was queued, in seconds', async () => {
    const { report } = scripted({ attributes: { 'service.instance.id': 'a' } })
    const tx = txOf('one')
    report(tx, 'queued')
    report(tx, 'signed', 250)
    report(tx, 'accepted', 250)
    report(tx, 'sealed', 1_500)
    // A reorg removed its block; it was sealed again.
    report(tx, 'sealed', 2_000)
    const { value, sum } = await telemetry.collect()
    const all = { ...CHAIN, 'service.instance.id': 'a' }
    for (const name of ['queued', 'signed', 'accepted', 'sealed'])
      expect(value('txlane.transactions', { ...all, ...stage(name) }), name).toBe(1)
    expect(sum('txlane.transaction.time', { ...all, ...stage('signed') })).toBeCloseTo(0.25)
    expect(sum('txlane.transaction.time', { ...all, ...stage('sealed') })).toBeCloseTo(2)
    expect(value('txlane.transaction.time', stage('sealed'))).toBe(1)
    expect(value('txlane.transaction.time', stage('queued'))).toBeUndefined()
  })

  test('a transaction that was queued in an earlier run is counted but not timed', async () => {
    const { report } = scripted()
    report(txOf('old'), 'sealed', 100)
    const { value } = await telemetry.collect()
    expect(value('txlane.transactions', stage('sealed'))).toBe(1)
    expect(value('txlane.transaction.time')).toBeUndefined()
  })

  test('a failure is counted by its code', async () => {
    const { report, fail } = scripted()
    const tx = txOf('one')
    report(tx, 'queued')
    fail(tx, 'STARVED')
    const { value } = await telemetry.collect()
    expect(value('txlane.transactions', { ...stage('failed'), 'error.type': 'STARVED' })).toBe(1)
  })

  test('no metric has an id, hash or nonce, and the docs list each metric with its unit', async () => {
    const { report, events, health } = scripted()
    const about = { address: ADDRESS, sentence: '', operator: false } as const
    health.reasons = [{ for: 'endpoint', endpoint: 'http://a', role: 'both', ...about }]
    const [tx, unknown] = [txOf('one'), txOf('two')]
    report(tx, 'queued')
    tx.nonce = 7
    tx.hash = '0x01'
    report(tx, 'sealed')
    report(unknown, 'signed')
    events.emit('rebroadcast', { tx: unknown as Tx })
    report(unknown, 'accepted')
    for (const name of eventNames) {
      const payload = {
        tx: tx as Tx,
        nonce: 7,
        reason: 'starved',
        epoch: 1,
        error: new Error('no'),
        times: 1,
      }
      events.emit(name, payload as unknown as SenderEvents[typeof name])
    }
    const { attributes, names } = await telemetry.collect()
    const known = [
      'stage',
      'hold.reason',
      'reorg.deep',
      'lease.takeover',
      'chain.id',
      'address',
      'endpoint.(?:name|role|change)',
    ]
    const allowed = new RegExp(`^(?:error\\.type|txlane\\.(?:${known.join('|')}))$`)
    expect([...attributes].filter((name) => !allowed.test(name))).toEqual([])
    const table = readFileSync(new URL('../../docs/metrics.md', import.meta.url), 'utf8')
    const documented = [...table.matchAll(/^\| `(txlane\.[\w.]+)` +\| \w+ +\| (?:`([^`]+)`)? +\|/gm)]
    expect([...names].sort()).toEqual(documented.map(([, name, unit]) => [name, unit ?? '']).sort())
  })
})

describe('unknown outcomes', () => {
  test.each<[string, (report: (next: Stage) => void) => void, string]>([
    ['accepted by a node', (report) => report('accepted'), 'accepted'],
    ['seen in a block before any node accepted it', (report) => report('sealed'), 'sealed'],
    ['cancelled', (report) => report('cancelled'), 'cancelled'],
    ['displaced, and signed at another nonce', (report) => report('signed'), 'queued'],
  ])(
    'a transaction that is sent again before any node accepted it is unknown until it is %s',
    async (_, then, end) => {
      const { report, events } = scripted()
      const tx = txOf('one')
      report(tx, 'queued')
      report(tx, 'signed')
      events.emit('rebroadcast', { tx: tx as Tx })
      events.emit('rebroadcast', { tx: tx as Tx })
      const before = await telemetry.collect()
      expect(before.value('txlane.rebroadcasts')).toBe(2)
      expect(before.value('txlane.outcomes.unknown')).toBe(1)
      expect(before.value('txlane.outcomes.resolved')).toBeUndefined()
      then((next) => report(tx, next))
      // Later events do not resolve it again.
      report(tx, 'sealed')
      const after = await telemetry.collect()
      expect(after.value('txlane.outcomes.resolved', stage(end))).toBe(1)
      expect(after.value('txlane.outcomes.resolved')).toBe(1)
    },
  )

  test('a resend after a node accepted the transaction leaves no unknown outcome', async () => {
    const { report, events } = scripted()
    const tx = txOf('one')
    report(tx, 'queued')
    report(tx, 'accepted')
    events.emit('rebroadcast', { tx: tx as Tx })
    const { value } = await telemetry.collect()
    expect(value('txlane.rebroadcasts')).toBe(1)
    expect(value('txlane.outcomes.unknown')).toBeUndefined()
  })
})

describe('gauges', () => {
  test('queued, in flight and unresolved have their values at the time of reading', async () => {
    const { report, events, health } = scripted()
    const [first, second] = [txOf('one'), txOf('two')]
    report(first, 'queued')
    report(second, 'queued')
    report(second, 'accepted')
    Object.assign(health, { queued: 1, inFlight: 1 })
    events.emit('unresolved', { nonce: 0, tx: second as Tx })
    const before = await telemetry.collect()
    const levels = (of: typeof before) =>
      ['queued', 'in_flight', 'unresolved'].map((n) => of.value(`txlane.${n}`))
    expect(levels(before)).toEqual([1, 1, 1])
    // The operator's decision ends it without an event.
    second.stage = 'finalized'
    Object.assign(health, { queued: 0, inFlight: 0 })
    report(first, 'signed')
    expect(levels(await telemetry.collect())).toEqual([0, 0, 0])
    expect(telemetry.spans().map(({ attributes }) => attributes['txlane.stage'])).toEqual(['finalized'])
  })

  test('ready and failing endpoints match health(); a recovered endpoint is 0', async () => {
    const { health } = scripted()
    const levels = async () => {
      const { value } = await telemetry.collect()
      return [value('txlane.ready'), value('txlane.endpoint.failing', { 'txlane.endpoint.name': 'http://a' })]
    }
    expect(await levels()).toEqual([1, undefined])
    const about = { address: ADDRESS, sentence: '', operator: false } as const
    const said = { endpoint: 'http://a', role: 'both', said: 'no answer in time' } as const
    health.reasons = [{ for: 'endpoint', ...said, ...about }]
    health.ready = false
    expect(await levels()).toEqual([0, 0])
    nowMs += 12_500
    expect(await levels()).toEqual([0, 12.5])
    health.reasons = []
    health.ready = true
    expect(await levels()).toEqual([1, 0])
    health.reasons = [{ for: 'endpoint', ...said, ...about }]
    expect(await levels()).toEqual([1, 0])
    nowMs += 1_000
    expect(await levels()).toEqual([1, 1])
  })

  test('a hold is 1 while it lasts and 0 after it, also if another process took the lane', async () => {
    const { events } = scripted()
    const held = async () => {
      const { value } = await telemetry.collect()
      return ['paused', 'starved'].map((reason) => value('txlane.held', { 'txlane.hold.reason': reason }))
    }
    events.emit('held', { reason: 'paused' })
    events.emit('held', { reason: 'starved' })
    expect(await held()).toEqual([1, 1])
    events.emit('released', { reason: 'paused' })
    expect(await held()).toEqual([0, 1])
    events.emit('leaseLost', { epoch: 1 })
    expect(await held()).toEqual([0, 0])
  })
})

describe('spans', () => {
  test('one per transaction: stages and attempts are events, nonce and hash are attributes', () => {
    const { report } = scripted()
    const tx = txOf('one')
    report(tx, 'queued')
    tx.nonce = 3
    tx.hash = '0xa1'
    tx.attempts = [{ nonce: 3, hash: '0xa1', fees: { maxFeePerGas: 5n, maxPriorityFeePerGas: 1n } }]
    report(tx, 'signed')
    tx.hash = '0xa2'
    tx.attempts = [...tx.attempts, { nonce: 3, hash: '0xa2', fees: { gasPrice: 9n } as never }]
    report(tx, 'sealed')
    const [span] = telemetry.spans()
    expect(span?.name).toBe('txlane.transaction')
    expect(span?.status.code).toBe(SpanStatusCode.UNSET)
    const end = { 'txlane.stage': 'sealed', 'txlane.attempts': 2, 'txlane.nonce': 3 }
    expect(span?.attributes).toMatchObject({ ...CHAIN, ...end, 'txlane.transaction.hash': '0xa2' })
    expect(span?.events.map(({ name }) => name)).toEqual(['queued', 'attempt', 'signed', 'attempt', 'sealed'])
    expect(span?.events[1]?.attributes).toMatchObject({ 'txlane.fees.max_fee_per_gas': '5' })
  })

  test('a failure is an error with its code and its fate', async () => {
    const { report, fail } = scripted()
    const tx = txOf('one')
    report(tx, 'queued')
    fail(tx, 'REJECTED')
    const [span] = telemetry.spans()
    expect(span?.status).toEqual({ code: SpanStatusCode.ERROR, message: 'REJECTED, notExecuted' })
    expect(span?.attributes).toMatchObject({ 'error.type': 'REJECTED', 'txlane.fate': 'notExecuted' })
  })

  test('a revert, reported after the span has ended, is an error in the same trace, once', async () => {
    const { report, events } = scripted()
    const tx = txOf('one')
    report(tx, 'queued')
    report(tx, 'sealed')
    events.emit('reverted', { tx: tx as Tx })
    events.emit('reverted', { tx: tx as Tx })
    const [first, second] = telemetry.spans()
    expect(telemetry.spans()).toHaveLength(2)
    expect(second?.status.code).toBe(SpanStatusCode.ERROR)
    expect(second?.parentSpanContext).toEqual(first?.spanContext())
    expect((await telemetry.collect()).value('txlane.reverted')).toBe(1)
  })

  test("it is a child of the caller's span, unless that has ended and so belongs to an old request", () => {
    const { report, off } = scripted()
    const tracer = telemetry.tracerProvider.getTracer('caller')
    tracer.startActiveSpan('request', (request) => {
      report(txOf('now'), 'queued')
      request.end()
      report(txOf('later'), 'queued')
    })
    off()
    const [request, now, later] = telemetry.spans()
    expect(now?.parentSpanContext).toEqual(request?.spanContext())
    expect(later?.parentSpanContext).toBeUndefined()
  })
})

describe('limits', () => {
  test('above the limit a transaction is counted, but neither timed nor traced; an end makes room', async () => {
    const { report, off } = scripted({ openMax: 1 })
    const [first, second, third] = [txOf('one'), txOf('two'), txOf('three')]
    report(first, 'queued')
    report(second, 'queued')
    report(second, 'sealed')
    report(first, 'sealed')
    report(third, 'queued')
    report(third, 'sealed')
    off()
    const { value } = await telemetry.collect()
    expect(value('txlane.transactions', stage('sealed'))).toBe(3)
    expect(value('txlane.transaction.time', stage('sealed'))).toBe(2)
    expect(telemetry.spans().map(({ attributes }) => attributes['txlane.transaction.id'])).toEqual([
      'one',
      'three',
    ])
  })

  test('after removal the open spans end, no event is handled and no gauge is shown', async () => {
    const { report, off } = scripted()
    const tx = txOf('one')
    report(tx, 'queued')
    off()
    off()
    report(tx, 'sealed')
    const { value } = await telemetry.collect()
    expect(value('txlane.transactions', stage('sealed'))).toBeUndefined()
    expect(value('txlane.in_flight')).toBeUndefined()
    const [span] = telemetry.spans()
    expect(span?.attributes['txlane.stage']).toBe('left')
    expect(span?.status.code).toBe(SpanStatusCode.UNSET)
  })

  test('a value that cannot be instrumented is refused at once', () => {
    expect(() => instrumentIn(clock, undefined as never)).toThrow('sender')
    expect(() => scripted({ openMax: 0 })).toThrow('openMax')
  })
})
