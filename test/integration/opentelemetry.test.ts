import { context, type Span, SpanStatusCode } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { createPublicClient, type Hex, http } from 'viem'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import {
  createSender,
  createSenderPool,
  memoryStore,
  type Sender,
  type SenderEvents,
} from '../../src/index.js'
import { instrument } from '../../src/opentelemetry/index.js'
import { type Devnet, startDevnet } from '../../tools/devnet/index.js'
import { createTelemetry, type Telemetry } from '../support/telemetry.js'

let devnet: Devnet
let telemetry: Telemetry
let nextAccount = 0
const ends: (() => unknown)[] = []

beforeAll(async () => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  devnet = await startDevnet({ blockTimeMs: 400, flashblockMs: 200, accounts: 20 })
})
beforeEach(() => {
  telemetry = createTelemetry()
})
afterEach(async () => {
  devnet.faults.clear()
  for (const end of ends.splice(0).reverse()) await end()
  await telemetry[Symbol.asyncDispose]()
})
afterAll(async () => {
  context.disable()
  await devnet.stop()
})

const to = '0x1111111111111111111111111111111111111111'
const transfer = { to, gas: 21_000n } as const
const LIMITS = { pollIntervalMs: 50, stuckAfterMs: 300, gapFillAfterMs: 100 }

/** An instrumented sender of an account that no other test has used. */
function open(on: Devnet = devnet, index = nextAccount++): Sender {
  const account = on.accounts[index]!
  const sender = createSender({ client: on.client(index), account, store: memoryStore(), limits: LIMITS })
  const off = instrument(sender, telemetry)
  ends.push(off, () => sender.close())
  return sender
}

const next = <event extends keyof SenderEvents>(sender: Sender, event: event): Promise<SenderEvents[event]> =>
  new Promise((resolve) => {
    const off = sender.on(event, (payload) => {
      off()
      resolve(payload)
    })
  })

const stage = (name: string) => ({ 'txlane.stage': name })
const spanOf = (id: string) =>
  telemetry.spans().find(({ attributes }) => attributes['txlane.transaction.id'] === id)

test("transactions are counted, timed and traced through their stages, within the caller's span", async () => {
  const sender = open()
  const tracer = telemetry.tracerProvider.getTracer('caller')
  const send = (span: Span) =>
    Promise.all([1, 2, 3].map((n) => sender.send(transfer, { id: `${n}` }))).finally(() => span.end())
  const txs = await tracer.startActiveSpan('payout', send)
  await Promise.all(txs.map((tx) => tx.wait('sealed')))
  const { value, sum } = await telemetry.collect()
  for (const name of ['queued', 'signed', 'accepted', 'preconfirmed', 'sealed'])
    expect(value('txlane.transactions', stage(name)), name).toBe(3)
  expect(value('txlane.transaction.time', stage('sealed'))).toBe(3)
  const times = ['signed', 'accepted', 'preconfirmed', 'sealed'].map((name) =>
    sum('txlane.transaction.time', stage(name)),
  )
  expect(times).toEqual([...times].sort((a, b) => Number(a) - Number(b)))
  const payout = telemetry.spans().find(({ name }) => name === 'payout')
  for (const tx of txs) {
    const span = spanOf(tx.id)
    expect(span?.parentSpanContext?.spanId).toBe(payout?.spanContext().spanId)
    const reported = ['queued', 'attempt', 'signed', 'accepted', 'preconfirmed', 'sealed']
    expect(span?.events.map(({ name }) => name)).toEqual(reported)
    expect(span?.attributes).toMatchObject({ 'txlane.transaction.hash': tx.hash, 'txlane.nonce': tx.nonce })
  }
  expect([...(await telemetry.collect()).attributes].filter((name) => /hash|nonce|\.id$/.test(name))).toEqual(
    ['txlane.chain.id'],
  )
})

test('a lost answer: an unknown outcome, sent again, and then accepted', async () => {
  await using manual = await startDevnet({ mining: 'manual' })
  const sender = open(manual, 0)
  manual.faults.inject({ fault: 'lostResponse', count: 1, method: 'eth_sendRawTransaction' })
  const again = next(sender, 'rebroadcast')
  const tx = await sender.send(transfer, { until: 'queued' })
  await again
  const before = await telemetry.collect()
  expect(before.value('txlane.outcomes.unknown')).toBe(1)
  expect(before.value('txlane.in_flight')).toBe(1)
  if (tx.stage === 'signed') await next(sender, 'accepted')
  await manual.seal()
  await tx.wait('sealed')
  // A child of its block proves the use of the nonce on a devnet.
  await manual.seal()
  await sender.close()
  const after = await telemetry.collect()
  expect(after.value('txlane.outcomes.resolved', stage('accepted'))).toBe(1)
  expect(after.value('txlane.rebroadcasts')).toBe(before.value('txlane.rebroadcasts'))
  expect(spanOf(tx.id)?.events.map(({ name }) => name)).toContain('rebroadcast')
})

test('bytes that no node can include: the failure with its code, then the gap is found and filled', async () => {
  const sender = open()
  await sender.ready()
  const message = 'invalid transaction v, r, s values'
  devnet.faults.inject({
    fault: 'rpcError',
    code: -32_000,
    message,
    count: 1,
    match: ({ nonce }) => nonce === 0,
  })
  const filled = next(sender, 'gapFilled')
  const [first, second] = await Promise.all([
    sender.send(transfer, { id: 'bad', until: 'queued' }),
    sender.send(transfer, { id: 'good', until: 'queued' }),
  ])
  await expect(first.wait()).rejects.toMatchObject({ code: 'REJECTED', fate: 'notExecuted' })
  await second.wait()
  await filled
  const { value } = await telemetry.collect()
  expect(value('txlane.gaps.found')).toBe(1)
  expect(value('txlane.gaps.filled')).toBe(1)
  expect(value('txlane.transactions', { ...stage('failed'), 'error.type': 'REJECTED' })).toBe(1)
  expect(spanOf('bad')?.status).toEqual({ code: SpanStatusCode.ERROR, message: 'REJECTED, notExecuted' })
  expect(spanOf('good')?.status.code).toBe(SpanStatusCode.UNSET)
})

test('a foreign transaction, a revert and a hold are each recorded', async () => {
  const sender = open()
  devnet.faults.inject({ fault: 'foreign', count: 1, method: 'eth_sendRawTransaction' })
  const foreign = next(sender, 'foreign')
  // Its code is one INVALID opcode; no test uses the deployed contract.
  const tx = await sender.send({ data: '0xfe' as Hex, gas: 100_000n }, { id: 'reverts' })
  expect(await tx.wait('sealed')).toMatchObject({ status: 'reverted' })
  await foreign
  sender.pause()
  const held = await telemetry.collect()
  expect(held.value('txlane.held', { 'txlane.hold.reason': 'paused' })).toBe(1)
  sender.resume()
  const { value } = await telemetry.collect()
  expect(value('txlane.held', { 'txlane.hold.reason': 'paused' })).toBe(0)
  expect(value('txlane.holds', { 'txlane.hold.reason': 'paused' })).toBe(1)
  expect(value('txlane.foreign')).toBe(1)
  expect(value('txlane.reverted')).toBe(1)
  const reverted = telemetry.spans().find(({ name }) => name === 'txlane.transaction.reverted')
  expect(reverted?.spanContext().traceId).toBe(spanOf('reverts')?.spanContext().traceId)
})

test('each account of a pool has its own metrics', async () => {
  nextAccount += 2
  const accounts = devnet.accounts.slice(nextAccount - 2, nextAccount)
  const client = createPublicClient({ chain: devnet.chain, transport: http() })
  const pool = createSenderPool({ client, accounts, store: memoryStore(), limits: LIMITS })
  const off = instrument(pool, telemetry)
  ends.push(off, () => pool.close())
  await Promise.all(Array.from({ length: 6 }, () => pool.send(transfer)))
  await pool.drain()
  const { value } = await telemetry.collect()
  for (const { address } of accounts)
    expect(value('txlane.transactions', { ...stage('sealed'), 'txlane.address': address })).toBe(3)
})
