import { describe, expect, test } from 'vitest'
import { createVirtualClock } from '../../../test/sim/virtualClock.js'
import type { BatchOptions, Port, RpcCall, RpcReply } from '../../rpc/port.js'
import { budgetedPort, denialOf } from './budgetedPort.js'
import { createRequestGate } from './requestGate.js'

const callsOf = (count: number): RpcCall[] =>
  Array.from({ length: count }, (_, index) => ({ method: 'eth_call', params: [index] }))
const fails = (failure: Extract<RpcReply, { ok: false }>['failure']): RpcReply => ({ ok: false, failure })
const LIMITED = fails({ kind: 'rpc', code: -32005, message: 'rate limit exceeded' })

function open(
  limits: { requestsPerSecond?: number; callsPerSecond?: number } = {},
  answer: (call: RpcCall) => RpcReply = ({ params }) => ({ ok: true, result: params[0] }),
) {
  const clock = createVirtualClock()
  const gate = createRequestGate({ clock, limits, restMsMax: 60_000 })
  const batches: number[] = []
  const askedAtMs: number[] = []
  const plain: Port = {
    name: 'node',
    kind: 'http',
    stats: { requests: 0, calls: 0 },
    close() {},
    async batch(calls) {
      batches.push(calls.length)
      askedAtMs.push(clock.now())
      return calls.map(answer)
    },
  }
  const port = budgetedPort(plain, gate, clock)
  async function read(count: number, options?: BatchOptions) {
    const reading = port.batch(callsOf(count), options)
    await clock.advance(20_000)
    return (await reading).map((reply) => (reply.ok ? reply.result : reply.failure.kind))
  }
  return { clock, gate, batches, askedAtMs, read }
}

describe('a read', () => {
  test('is one request while nothing limits it', async () => {
    const { read, batches } = open()
    expect(await read(50)).toEqual(callsOf(50).map((_, index) => index))
    expect(batches).toEqual([50])
  })

  test('is split into the granted calls, and answered in order', async () => {
    const { read, batches } = open({ callsPerSecond: 20 })
    expect(await read(12)).toEqual(callsOf(12).map((_, index) => index))
    expect(batches.reduce((sum, size) => sum + size, 0)).toBe(12)
    expect(Math.max(...batches)).toBeLessThanOrEqual(5)
  })

  test('fails without a request if it gets no budget within its timeout', async () => {
    const { read, batches, gate, clock } = open()
    gate.ended({
      calls: 1,
      sentAtMs: clock.now(),
      denial: { calls: 1, retryAfterMs: 30_000, said: 'slow down' },
    })
    expect(await read(2, { timeoutMs: 5_000 })).toEqual(['timeout', 'timeout'])
    expect(batches).toEqual([])
    await clock.advance(60_000)
    expect(batches).toEqual([])
  })

  test('is sent after the longest pause that its caller accepts, even if the endpoint asked for more', async () => {
    const { read, batches, askedAtMs, gate, clock } = open()
    gate.ended({
      calls: 1,
      sentAtMs: clock.now(),
      denial: { calls: 1, retryAfterMs: 30_000, said: 'slow down' },
    })
    const fromMs = clock.now()
    expect(await read(2, { restMsMax: 2_000 })).toEqual([0, 1])
    expect(batches).toEqual([2])
    expect(askedAtMs[0]).toBe(fromMs + 2_000)
  })

  test('waits for its turn while the endpoint asks for no pause, although its caller accepts only a short one', async () => {
    const { read, batches, gate, clock } = open({ callsPerSecond: 4 })
    expect(await read(12, { restMsMax: 1_000 })).toHaveLength(12)
    expect(Math.max(...batches)).toBeLessThanOrEqual(4)
    // Denied a while ago: it was left alone then, and is not any more.
    gate.ended({
      calls: 1,
      sentAtMs: clock.now(),
      denial: { calls: 1, retryAfterMs: 100, said: 'slow down' },
    })
    await clock.advance(5_000)
    batches.length = 0
    expect(await read(12, { restMsMax: 1_000 })).toHaveLength(12)
    expect(Math.max(...batches)).toBeLessThanOrEqual(4)
  })

  test('without an answer is not repeated part by part', async () => {
    const { read, batches } = open({ callsPerSecond: 4 }, () =>
      fails({ kind: 'network', message: 'refused' }),
    )
    expect(await read(5)).toEqual(new Array(5).fill('network'))
    expect(batches).toEqual([2])
  })

  test('that needs consistent answers waits until all its calls may be sent', async () => {
    const { read, batches } = open({ callsPerSecond: 10 })
    await read(10)
    batches.length = 0
    expect(await read(8, { together: true })).toHaveLength(8)
    expect(batches).toEqual([8])
    // More than a second allows.
    batches.length = 0
    expect(await read(12, { together: true })).toHaveLength(12)
    expect(batches).toEqual([10, 2])
  })

  test('lowers the rate for all users if it is denied', async () => {
    const { read, gate } = open({}, () => LIMITED)
    expect(gate.status().callsPerSecond).toBeUndefined()
    await read(10)
    expect(gate.status()).toMatchObject({ denied: 1 })
    expect(gate.status().callsPerSecond).toBeLessThanOrEqual(10)
  })
})

describe('answers that count as a denial', () => {
  const retry = fails({ kind: 'http', status: 429, message: 'HTTP 429', retryAfterMs: 700 })
  const ofBatch = { code: -32005, message: 'rate limit exceeded' }
  test.each<[string, readonly RpcReply[], unknown]>([
    ['nothing, where all is answered', [{ ok: true, result: 1 }], undefined],
    [
      'each call by itself',
      [LIMITED, { ok: true, result: 1 }, LIMITED],
      { calls: 2, retryAfterMs: undefined },
    ],
    ['the longest rest that is asked for', [LIMITED, retry], { calls: 2, retryAfterMs: 700 }],
    [
      'one answer to the whole of a batch',
      [1, 2].map(() => fails({ kind: 'malformed', message: 'one error', ofBatch } as never)),
      { calls: 2 },
    ],
    [
      'no refusal of another kind',
      [fails({ kind: 'rpc', code: 3, message: 'execution reverted' })],
      undefined,
    ],
  ])('%s', (_, replies, denial) => {
    if (denial === undefined) expect(denialOf(replies)).toBeUndefined()
    else expect(denialOf(replies)).toMatchObject(denial as object)
  })
})
