import { describe, expect, test } from 'vitest'
import { createRandom } from '../../test/sim/random.js'
import { openProcesses } from '../api/sender/processes.fixture.js'
import { createSenderIn } from '../api/sender/sender.js'
import { openSeveral } from '../api/sender/severalEndpoints.fixture.js'
import { onSend, openLane, swallows, transfer } from '../api/sender/simLane.fixture.js'
import type { RpcFailure } from '../rpc/port.js'
import type { Tx } from '../types/index.js'

const lost: RpcFailure = { kind: 'network', message: 'socket hang up' }

/** Every call of the requests with these numbers fails. */
async function withFailures(failure: RpcFailure, fails: (request: number) => boolean) {
  const lane = await openLane({ closed: true })
  lane.script = () => (fails(lane.requests.length) ? { ok: false, failure } : undefined)
  return lane
}

test('whichever one request gets lost, the lane opens', async () => {
  await using untouched = await openLane({ closed: true })
  await untouched.settle(untouched.sender.ready())
  const requests = untouched.requests.length
  expect(requests).toBeGreaterThan(2)
  for (let number = 1; number <= requests; number += 1) {
    await using lane = await withFailures(lost, (request) => request === number)
    await lane.settle(lane.sender.ready())
    expect(lane.requests.length).toBeGreaterThanOrEqual(requests)
  }
})

test('the lane opens for any share of lost or rate-limited requests or calls', async () => {
  const often: RpcFailure = { kind: 'http', status: 429, message: 'HTTP 429' }
  const noPart: RpcFailure = { kind: 'malformed', message: 'no answer has the id of this call' }
  const tooMany: RpcFailure = { kind: 'rpc', code: -32005, message: 'rate limit exceeded' }
  for (const failure of [lost, often, noPart, tooMany]) {
    for (const period of [3, 5, 10]) {
      await using whole = await withFailures(failure, (request) => request % period === 0)
      await whole.settle(whole.sender.ready(), 30_000)
      // One call of a batch at a time.
      await using single = await openLane({ closed: true })
      const random = createRandom(period)
      single.script = () => (random() < 1 / period ? { ok: false, failure } : undefined)
      await single.settle(single.sender.ready(), 30_000)
    }
  }
})

test.each([null, '0xzz', {}])(
  'a balance of %j counts as no answer: the lane opens without it',
  async (result) => {
    await using lane = await openLane({ closed: true })
    lane.chain.start()
    lane.script = ({ method }) => (method === 'eth_getBalance' ? { ok: true, result } : undefined)
    await lane.settle(lane.sender.ready())
    await lane.settle((await lane.settle(lane.sender.send(transfer(1)))).wait('sealed'))
  },
)

test('a call without an answer is repeated alone, and answered calls are not', async () => {
  await using lane = await openLane({ closed: true })
  let lacking = 3
  lane.script = ({ method, params }) =>
    method === 'eth_getBlockByNumber' && params[0] === 'latest' && lacking-- > 0
      ? { ok: false, failure: { kind: 'rpc', code: -32005, message: 'rate limit exceeded' } }
      : undefined
  await lane.settle(lane.sender.ready())
  const [first, ...others] = lane.requests
  expect(first?.map(({ method }) => method)).toContain('eth_chainId')
  expect(others.slice(0, 3)).toEqual(
    Array.from({ length: 3 }, () => [{ method: 'eth_getBlockByNumber', params: ['latest', false] }]),
  )
})

test('a node that stays away is reported after `readyTimeoutMs` with its words, and may be asked again later', async () => {
  const answers: readonly (readonly [RpcFailure, RegExp])[] = [
    [lost, /sim said: socket hang up/],
    [{ kind: 'http', status: 429, message: 'HTTP 429: slow down' }, /sim said: .*HTTP 429/],
    [{ kind: 'malformed', message: 'a body that is not JSON: a page titled "Sign in"' }, /Sign in/],
  ]
  for (const [failure, words] of answers) {
    for (const readyTimeoutMs of [undefined, 3_000]) {
      let away = true
      await using lane = await openLane({
        closed: true,
        ...(readyTimeoutMs === undefined ? {} : { limits: { readyTimeoutMs } }),
      })
      lane.script = () => (away ? { ok: false, failure } : undefined)
      const begunMs = lane.clock.now()
      const error = await lane.rejection(lane.sender.ready())
      expect(error).toMatchObject({ code: 'UNREACHABLE', fate: 'notExecuted' })
      expect(error.message).toContain('No endpoint answered')
      expect(error.message).toMatch(words)
      const tookMs = lane.clock.now() - begunMs
      expect(tookMs).toBeGreaterThanOrEqual(readyTimeoutMs ?? 30_000)
      expect(tookMs).toBeLessThan((readyTimeoutMs ?? 30_000) + 2_000)
      // Two seconds apart in the end.
      expect(lane.requests.length).toBeLessThanOrEqual(40)
      away = false
      await lane.settle(lane.sender.ready())
    }
  }
})

test('a sender that closes while no endpoint answers is not waited for until `readyTimeoutMs`', async () => {
  await using lane = await withFailures(lost, () => true)
  const ready = lane.sender.ready().catch((error: unknown) => error)
  await lane.clock.advance(1_000)
  const begunMs = lane.clock.now()
  await lane.settle(lane.sender.close())
  expect(lane.clock.now() - begunMs).toBeLessThan(3_000)
  expect(await ready).toMatchObject({ code: 'CLOSED', fate: 'notExecuted' })
})

test('a lasting failure is reported at once: a refused key', async () => {
  const refused: RpcFailure = { kind: 'http', status: 401, message: 'unauthorized' }
  await using lane = await withFailures(refused, () => true)
  expect(await lane.rejection(lane.sender.ready())).toMatchObject({ code: 'UNREACHABLE' })
  // The batch, and one call of it alone: it might have been the batch that was refused.
  expect(lane.requests.map(({ length }) => length > 1)).toEqual([true, false])
})

test('a rate-limited node is asked again at the time that it named, at most two seconds late', async () => {
  for (const [retryAfterMs, passedMs] of [
    [1_000, 1_000],
    [60_000, 2_000],
  ] as const) {
    const often: RpcFailure = { kind: 'http', status: 429, message: 'slow down', retryAfterMs }
    await using lane = await withFailures(often, (request) => request === 1)
    const begunMs = lane.clock.now()
    const ready = lane.sender.ready()
    await lane.until(() => lane.requests.length === 2)
    expect(lane.clock.now() - begunMs).toBeGreaterThanOrEqual(passedMs)
    expect(lane.clock.now() - begunMs).toBeLessThan(passedMs + 100)
    await lane.settle(ready)
  }
})

describe('several endpoints', () => {
  test('the lane opens with one endpoint although another one does not answer', async () => {
    for (const state of ['refuses', 'hangs'] as const) {
      for (const dead of [0, 1]) {
        await using several = await openSeveral(['both', 'both'], {
          closed: true,
          before: (endpoints) => void Object.assign(endpoints[dead] ?? {}, { state }),
        })
        const { lane, sender } = several
        const begunMs = lane.clock.now()
        await lane.settle(sender.ready())
        // One read without an answer at most.
        expect(lane.clock.now() - begunMs, `${state} ${dead}`).toBeLessThan(6_000)
      }
    }
  })

  test('an endpoint that asks for a long pause leaves no timer in a sender that opens and closes', async () => {
    const often: RpcFailure = { kind: 'http', status: 429, message: 'slow down', retryAfterMs: 86_400_000 }
    await using several = await openSeveral(['both', 'both'], {
      closed: true,
      before: ([first]) => void Object.assign(first ?? {}, { script: () => ({ ok: false, failure: often }) }),
    })
    const { lane, sender } = several
    await lane.settle(sender.ready())
    await lane.settle(sender.close())
    lane.chain.stop()
    expect(lane.clock.pendingTimers).toBe(0)
  })

  test('if no endpoint answers, the error quotes each of them', async () => {
    await using several = await openSeveral(['both', 'read'], {
      closed: true,
      before([first, second]) {
        Object.assign(first ?? {}, { state: 'refuses' })
        Object.assign(second ?? {}, { state: 'hangs' })
      },
    })
    const error = await several.lane.rejection(several.sender.ready())
    expect(error).toMatchObject({ code: 'UNREACHABLE' })
    expect(error.message).toContain('e0 said: refused')
    expect(error.message).toContain('e1 said: no answer in time')
  })
})

test('after ready the first transaction waits for no answer: its bytes are the next thing that the node is asked', async () => {
  await using lane = await openLane({ closed: true })
  await lane.settle(lane.sender.ready())
  const requests = lane.requests.length
  await lane.settle(lane.sender.send(transfer(1)))
  expect(lane.requests[requests]?.[0]?.method).toBe('eth_sendRawTransaction')
})

test('a node without a gas price does not delay ready(), and is asked with the first transaction', async () => {
  await using lane = await openLane({ closed: true })
  const silent: RpcFailure = { kind: 'network', message: 'socket hang up' }
  lane.script = ({ method }) =>
    method === 'eth_maxPriorityFeePerGas' ? { ok: false, failure: silent } : undefined
  await lane.settle(lane.sender.ready())
  lane.script = undefined
  await lane.settle(lane.sender.send(transfer(1)))
  expect(lane.sent).toHaveLength(1)
})

describe('the opener of a lane gets all events of the opening', () => {
  test('a transaction in the newest block at the opening emits sealed once', async () => {
    await using world = await openProcesses()
    const { lane } = world
    const first = world.start()
    await lane.settle(first.sender.ready())
    lane.script = onSend(swallows)
    await lane.settle(first.sender.send(transfer(1), { id: 'a' }))
    first.freeze()
    const raw = lane.requests.flat().find(({ method }) => method === 'eth_sendRawTransaction')?.params[0]
    // Longer than a lease lasts.
    await lane.clock.advance(30_000)
    const second = world.start()
    lane.chain.submit(raw as string)
    await lane.until(() => lane.executed().length === 1)
    await lane.settle(second.sender.ready())
    await lane.clock.advance(5_000)
    expect(first.events('sealed')).toEqual([])
    expect(second.events('sealed').map(({ tx }) => (tx as Tx).id)).toEqual(['a'])
  })

  test('a hold at the beginning is emitted once', async () => {
    await using lane = await openLane({ closed: true, coldStart: 'settle', nonce: 7 })
    await lane.settle(lane.sender.ready())
    expect(lane.events('held')).toMatchObject([{ reason: 'seeding' }])
  })

  test('a sender that joins gets the hold again', async () => {
    await using lane = await openLane({ closed: true, coldStart: 'settle', nonce: 7 })
    lane.sender.pause()
    await lane.settle(lane.sender.ready())
    const reported: unknown[] = []
    const other = createSenderIn(lane.environment, lane.parameters)
    other.on('held', ({ reason }) => void reported.push(reason))
    await lane.settle(other.ready())
    expect(reported).toContain('paused')
    await lane.settle(other.close())
  })
})

test('repeated payments to a lane that does not open send no more requests than one payment', async () => {
  const asked: number[] = []
  for (const payments of [1, 20]) {
    await using lane = await openLane({ closed: true })
    let isMissing = true
    lane.script = ({ method, params }) =>
      isMissing && method === 'eth_getTransactionCount' && params[1] === 'latest'
        ? { ok: false, failure: { kind: 'rpc', code: -32601, message: 'the method is not available' } }
        : undefined
    const said = new Set<string>()
    async function send(marker: number): Promise<Tx> {
      for (;;) {
        try {
          return await lane.sender.send(transfer(marker))
        } catch (error) {
          said.add((error as Error).message)
          await new Promise<void>((resolve) => lane.clock.setTimer(resolve, 900 + marker))
        }
      }
    }
    const sent = Array.from({ length: payments }, (_, index) => send(index + 1))
    await lane.clock.advance(20_000)
    asked.push(lane.requests.length)
    for (const message of said) expect(message).toContain('the method is not available')
    isMissing = false
    await lane.settle(Promise.all(sent), 5_000)
    expect(lane.sent.length).toBe(payments)
  }
  const [byOne, byMany] = asked as [number, number]
  expect(byMany).toBeLessThanOrEqual(1.5 * byOne)
  expect(byMany).toBeLessThan(120)
})
