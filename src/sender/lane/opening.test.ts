import { describe, expect, test } from 'vitest'
import type { RpcFailure } from '../../rpc/port.js'
import type { Tx } from '../../types.js'
import { openProcesses } from '../processes.fixture.js'
import { createSenderIn } from '../sender.js'
import { onSend, openLane, swallows, transfer } from '../simLane.fixture.js'

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

test('a node that stays away is told after three times, and may be asked again later', async () => {
  let away = true
  await using lane = await withFailures(lost, () => away)
  expect(await lane.rejection(lane.sender.ready())).toMatchObject({ code: 'REJECTED', fate: 'notExecuted' })
  expect(lane.requests.length).toBe(3)
  away = false
  await lane.settle(lane.sender.ready())
})

test('a failure that will not pass is told at once: a key that is refused', async () => {
  const refused: RpcFailure = { kind: 'http', status: 401, message: 'unauthorized' }
  await using lane = await withFailures(refused, () => true)
  expect(await lane.rejection(lane.sender.ready())).toMatchObject({ code: 'REJECTED' })
  expect(lane.requests.length).toBe(1)
})

test('one that is asked too often is asked again when it said, and no later than two seconds after', async () => {
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

test('after ready the first transaction waits for no answer: its bytes are the next thing that the node is asked', async () => {
  await using lane = await openLane({ closed: true })
  await lane.settle(lane.sender.ready())
  const requests = lane.requests.length
  await lane.settle(lane.sender.send(transfer(1)))
  expect(lane.requests[requests]?.[0]?.method).toBe('eth_sendRawTransaction')
})

test('a node that does not say what gas costs keeps nobody from being ready, and is asked with the first transaction', async () => {
  await using lane = await openLane({ closed: true })
  const silent: RpcFailure = { kind: 'network', message: 'socket hang up' }
  lane.script = ({ method }) =>
    method === 'eth_maxPriorityFeePerGas' ? { ok: false, failure: silent } : undefined
  await lane.settle(lane.sender.ready())
  lane.script = undefined
  await lane.settle(lane.sender.send(transfer(1)))
  expect(lane.sent).toHaveLength(1)
})

describe('who opens a lane hears of all that happens to it meanwhile', () => {
  test('a transaction in the block that is the newest when the lane opens is told as sealed, once', async () => {
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

  test('a hold that it began with is told once', async () => {
    await using lane = await openLane({ closed: true, coldStart: 'settle', nonce: 7 })
    await lane.settle(lane.sender.ready())
    expect(lane.events('held')).toMatchObject([{ reason: 'seeding' }])
  })

  test('it is told again to who joins it', async () => {
    await using lane = await openLane({ closed: true, coldStart: 'settle', nonce: 7 })
    lane.sender.pause()
    await lane.settle(lane.sender.ready())
    const told: unknown[] = []
    const other = createSenderIn(lane.environment, lane.parameters)
    other.on('held', ({ reason }) => void told.push(reason))
    await lane.settle(other.ready())
    expect(told).toContain('paused')
    await lane.settle(other.close())
  })
})
