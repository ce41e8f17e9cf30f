import { describe, expect, test } from 'vitest'
import { createVirtualClock } from '../../../test/sim/virtualClock.js'
import { openSeveral } from '../../api/sender/severalEndpoints.fixture.js'
import { openLane, refuses, type Script, type SimLane, transfer } from '../../api/sender/simLane.fixture.js'
import type { RpcCall, RpcFailure, RpcReply } from '../../rpc/port.js'
import { createProfile } from '../../rpc/profile.js'
import { createReceipts, type ReceiptsEndpointPool } from './receipts.js'

const BLOCK_MS = 2_000
const markers = (count: number) => Array.from({ length: count }, (_, index) => index + 1)
const isReceiptCall = ({ method }: RpcCall) =>
  method === 'eth_getTransactionReceipt' || method === 'eth_getBlockReceipts'
const receiptRequests = (lane: Pick<SimLane, 'requests'>) =>
  lane.requests.filter((calls) => calls.some(isReceiptCall))

/** Every receipt is answered so. */
const receipts =
  (reply: (call: RpcCall) => RpcReply | undefined): Script =>
  (call) =>
    isReceiptCall(call) ? reply(call) : undefined

const TOO_MANY: RpcReply = { ok: false, failure: { kind: 'http', status: 429, message: 'Too Many Requests' } }
const missing: readonly [string, RpcReply][] = [
  ['null', { ok: true, result: null }],
  ['an error', refuses('transaction indexing is in progress')],
  ['HTTP 429', TOO_MANY],
  ['a number', { ok: true, result: 7 }],
]

/** The true receipts with another block's hash. */
const ofAnotherBlock = (lane: () => SimLane): Script =>
  receipts((call) => {
    if (call.method === 'eth_getBlockReceipts') return { ok: true, result: [] }
    const receipt = {
      transactionHash: call.params[0],
      blockHash: `0x${'ee'.repeat(32)}`,
      blockNumber: `0x${lane().chain.head.number.toString(16)}`,
      status: '0x1',
    }
    return { ok: true, result: receipt }
  })

async function sealed(lane: SimLane, count: number) {
  const sent = await lane.settle(
    Promise.all(markers(count).map((marker) => lane.sender.send(transfer(marker)))),
  )
  const landed = sent.map((tx) => tx.wait('sealed'))
  for (const one of landed) one.catch(() => {})
  await lane.until(() => sent.every(({ stage }) => stage === 'sealed'))
  return { sent, landed }
}

describe('a receipt that is missing', () => {
  test.each(missing)(
    'answered with %s, is asked for at most once a block while a caller waits',
    async (_, reply) => {
      await using lane = await openLane()
      lane.script = receipts(() => reply)
      const { landed } = await sealed(lane, 1)
      const before = lane.requests.length
      const blocks = 10
      await lane.clock.advance(blocks * BLOCK_MS)
      // Two calls a round where the receipts of the block were asked for first.
      expect(receiptRequests(lane).length).toBeLessThanOrEqual(2 * (blocks + 1))
      expect(lane.requests.length - before).toBeLessThanOrEqual(4 * blocks)
      lane.script = undefined
      await lane.settle(Promise.all(landed), 16_000)
    },
  )

  test('is read by hash if the endpoint fails in any way at the receipts of a block', async () => {
    const failures: readonly RpcFailure[] = [
      { kind: 'custom', message: 'strange', cause: new Error('strange') },
      { kind: 'rpc', code: -32000, message: 'strange' },
      { kind: 'rpc', code: -32603, message: 'internal error' },
      { kind: 'http', status: 500, message: 'HTTP 500' },
      { kind: 'network', message: 'socket hang up' },
      { kind: 'malformed', message: 'no answer has the id of this call' },
      { kind: 'timeout', message: 'no answer within 10000 ms' },
    ]
    for (const failure of failures) {
      await using lane = await openLane()
      lane.script = ({ method }) => (method === 'eth_getBlockReceipts' ? { ok: false, failure } : undefined)
      const { landed } = await sealed(lane, 10)
      const before = lane.requests.length
      const sealedAtMs = lane.clock.now()
      await lane.settle(Promise.all(landed), 16_000)
      const blocks = Math.ceil((lane.clock.now() - sealedAtMs) / BLOCK_MS)
      expect(lane.requests.length - before, failure.message).toBeLessThanOrEqual(12 * (blocks + 1))
    }
  })

  test('that another caller got meanwhile reaches all waiting callers', async () => {
    const hash = `0x${'ab'.repeat(32)}` as const
    const block = { number: 5, hash: `0x${'cd'.repeat(32)}` } as const
    const found = { transactionHash: hash, blockHash: block.hash, blockNumber: '0x5', status: '0x1' }
    let result: unknown = null
    const port = {
      name: 'node',
      batch: async (calls: readonly RpcCall[]) =>
        calls.map(
          ({ method }): RpcReply => ({ ok: true, result: method === 'eth_getBlockReceipts' ? [] : result }),
        ),
    }
    const reader = {
      port,
      role: 'both',
      probed: true,
      gate: { isBlocked: false },
      profile: createProfile({ blockReceipts: false }),
    }
    const tracker = { head: block, blockMs: BLOCK_MS, onHead: () => () => {}, wake() {} }
    const endpointPool = {
      reader,
      endpoints: [reader],
      chain: {},
      tracker,
    } as unknown as ReceiptsEndpointPool
    const clock = createVirtualClock()
    const all = createReceipts(endpointPool, { clock, timeoutMs: 1_000, restMsMax: 1_000 })
    expect(await all.get(hash, block)).toBeUndefined()
    let isFree = false
    const { promise } = all.due(hash, block)
    void promise.then(() => {
      isFree = true
    })
    result = found
    expect(await all.get(hash, block)).toMatchObject({ status: 'success' })
    await Promise.resolve()
    expect(isFree).toBe(true)
    expect(clock.pendingTimers).toBe(0)
  })

  test('of 26 transactions in several blocks, is one batch for all of them, with growing pauses', async () => {
    await using lane = await openLane({ limits: { window: 2, windowMax: 2 } })
    lane.script = receipts(() => ({ ok: true, result: null }))
    const { landed } = await sealed(lane, 26)
    expect(new Set(lane.chain.canonical.filter(({ executed }) => executed.length > 0)).size).toBeGreaterThan(
      1,
    )
    await lane.clock.advance(30_000)
    const before = receiptRequests(lane).length
    await lane.clock.advance(60_000)
    const since = receiptRequests(lane).slice(before)
    const rounds = since.filter((calls) => calls.length > 1).length
    expect(rounds).toBeGreaterThanOrEqual(3)
    expect(since.length).toBeLessThanOrEqual(2 * 5)
    lane.script = undefined
    await lane.settle(Promise.all(landed), 16_000)
  })

  test('is requested every few seconds if no block comes', async () => {
    await using lane = await openLane()
    lane.script = receipts(() => ({ ok: true, result: null }))
    const { landed } = await sealed(lane, 1)
    await lane.clock.advance(BLOCK_MS)
    lane.chain.stop()
    const before = lane.requests.length
    const asked = receiptRequests(lane).length
    await lane.clock.advance(60_000)
    const times = receiptRequests(lane).length - asked
    expect(times).toBeGreaterThanOrEqual(3)
    expect(times).toBeLessThanOrEqual(2 * 12)
    expect(lane.requests.length - before).toBeLessThanOrEqual(60)
    lane.script = undefined
    await lane.settle(Promise.all(landed), 20_000)
  })

  test('is read with its block if the node has no index of transactions yet', async () => {
    await using lane = await openLane()
    lane.script = (call) =>
      call.method === 'eth_getTransactionReceipt' ? refuses('transaction indexing is in progress') : undefined
    const { landed } = await sealed(lane, 1)
    expect(await lane.settle(landed[0] as Promise<unknown>, 2 * BLOCK_MS)).toMatchObject({
      status: 'success',
    })
  })

  test('that another caller gets also reaches callers that wait until it is due', async () => {
    await using lane = await openLane()
    const tx = await lane.settle(lane.sender.send(transfer(1)))
    await lane.until(() => tx.stage === 'sealed')
    let asked = 0
    lane.script = receipts(() => (asked++ === 0 ? { ok: true, result: null } : undefined))
    const first = tx.wait('sealed')
    await lane.clock.advance(5)
    const second = tx.wait('sealed')
    expect(await lane.settle(second, 100)).toMatchObject({ status: 'success' })
    expect(await lane.settle(first, 100)).toMatchObject({ status: 'success' })
  })

  test('costs no further requests if a caller asks repeatedly', async () => {
    await using lane = await openLane()
    lane.script = receipts(() => ({ ok: true, result: null }))
    const { sent, landed } = await sealed(lane, 1)
    const before = receiptRequests(lane).length
    const from = lane.chain.head.number
    for (let times = 0; times < 100; times++) {
      const error = await lane.rejection(sent[0]!.wait('sealed', { timeoutMs: 100 }))
      expect(error).toMatchObject({ code: 'WAIT_TIMEOUT', fate: 'executed' })
      expect(error.details).toContain('sim: it has no receipt')
    }
    // Two wait at a time: with each block one request for each, and with every second block another one by its hash.
    const blocks = lane.chain.head.number - from
    expect(receiptRequests(lane).length - before).toBeLessThanOrEqual(2 * 1.5 * blocks)
    lane.script = undefined
    await lane.settle(Promise.all(landed), 16_000)
  })
})

describe('a receipt that never fits', () => {
  test('ends the wait once the block is final, with the fate and the message of the endpoint', async () => {
    await using lane = await openLane()
    lane.script = ofAnotherBlock(() => lane)
    const { sent, landed } = await sealed(lane, 1)
    const error = await lane.rejection(landed[0] as Promise<unknown>, 600_000)
    expect(error).toMatchObject({ code: 'NO_RECEIPT', fate: 'executed', tx: { id: sent[0]!.id } })
    expect(sent[0]!.stage).toBe('finalized')
    expect(error.details).toMatch(/^sim: its receipt is of the block 0xeeee/)
    await lane.blocks(1)
    // No endpoint is asked any more.
    const before = lane.requests.length
    await lane.clock.advance(120_000)
    expect(lane.requests.length).toBe(before)
  })

  test('ends the wait after `receiptPatienceMs` if the block is not final before', async () => {
    await using lane = await openLane({ limits: { receiptPatienceMs: 20_000 } })
    lane.script = receipts(() => ({ ok: true, result: null }))
    const { landed } = await sealed(lane, 1)
    const startedMs = lane.clock.now()
    const error = await lane.rejection(landed[0] as Promise<unknown>)
    expect(error).toMatchObject({ code: 'NO_RECEIPT', fate: 'executed' })
    expect(lane.clock.now() - startedMs).toBeLessThanOrEqual(20_000 + 15_000)
    expect(lane.clock.now() - startedMs).toBeGreaterThanOrEqual(18_000)
  })

  test('is requested from the other endpoints before the wait ends', async () => {
    await using several = await openSeveral(['both', 'read'])
    const { lane, sender, endpoints } = several
    for (const endpoint of endpoints) endpoint.script = receipts(() => ({ ok: true, result: null }))
    const tx = await lane.settle(sender.send(transfer(1)))
    const landed = tx.wait('sealed')
    await lane.until(() => tx.stage === 'sealed')
    endpoints[1]!.script = undefined
    expect(await lane.settle(landed, 3 * BLOCK_MS)).toMatchObject({ status: 'success' })
  })

  test('a dependent that only needs its execution goes on', async () => {
    await using lane = await openLane({ limits: { receiptPatienceMs: 5_000 } })
    lane.script = receipts(() => ({ ok: true, result: null }))
    const { sent, landed } = await sealed(lane, 1)
    const dependent = lane.sender.send(transfer(2), {
      after: [sent[0]!],
      afterStage: 'sealed',
      afterStatus: 'any',
    })
    await lane.settle(dependent)
    expect(await lane.rejection(landed[0] as Promise<unknown>)).toMatchObject({ code: 'NO_RECEIPT' })
  })
})
