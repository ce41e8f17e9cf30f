import { describe, expect, test } from 'vitest'
import { createSenderIn } from '../../api/sender/sender.js'
import {
  openLane,
  refuses,
  type SimLane,
  type SimLaneOptions,
  TIMES_OUT,
  transfer,
} from '../../api/sender/simLane.fixture.js'
import type { RpcReply } from '../../rpc/port.js'
import { memoryStore } from '../../store/memory.js'
import type { TxRequest } from '../../types/index.js'

const ROUND_TRIP_MS = 300

/** A lane that is not open yet, on a distant chain. */
async function farAway(options: SimLaneOptions = {}): Promise<SimLane> {
  const lane = await openLane({ closed: true, lateMs: () => ROUND_TRIP_MS, ...options })
  lane.chain.start()
  // The chain has more than its first block when the lane opens.
  await lane.clock.advance(5_000)
  return lane
}

/** Whole round trips until this send is accepted. */
async function roundTripsOf(lane: SimLane, send: Promise<unknown>): Promise<number> {
  const begunMs = lane.clock.now()
  await lane.settle(send)
  return Math.floor((lane.clock.now() - begunMs) / ROUND_TRIP_MS)
}

/** A transfer without gas and fees. */
function bare(marker: number): TxRequest {
  const { gas: _, ...request } = transfer(marker)
  return request as TxRequest
}

const estimates = ({ requests }: SimLane) =>
  requests.flat().filter(({ method }) => method === 'eth_estimateGas').length

describe('a first send without gas and fees is accepted after three round trips', () => {
  test.each<readonly [string, SimLaneOptions]>([
    ['blocks every 2 s', {}],
    ['blocks faster than the round trip', { chain: { blockTimeMs: 200 } }],
    ['an account with money and code', { code: `0xef0100${'11'.repeat(20)}` }],
  ])('%s', async (_, options) => {
    await using lane = await farAway(options)
    expect(await roundTripsOf(lane, lane.sender.send(bare(1)))).toBe(3)
    expect(estimates(lane)).toBe(1)
  })

  test('for a lane that an earlier process had opened', async () => {
    const store = memoryStore()
    await using lane = await farAway({ store })
    await lane.settle(lane.sender.send(bare(1)).then((tx) => tx.wait('finalized')))
    await lane.settle(lane.sender.close())
    const later = createSenderIn(lane.environment, lane.parameters)
    expect(await roundTripsOf(lane, later.send(bare(2)))).toBe(3)
    await lane.settle(later.close())
  })
})

test.each([0, ROUND_TRIP_MS])('an idle lane that is ready sends no requests, %i ms away', async (ms) => {
  await using lane = await farAway({ lateMs: () => ms })
  await lane.settle(lane.sender.ready())
  const requests = lane.requests.length
  await lane.clock.advance(60_000)
  expect(lane.requests).toHaveLength(requests)
})

describe('requests before the lane is open', () => {
  test('are not made without a send', async () => {
    await using lane = await farAway()
    await lane.settle(lane.sender.snapshot())
    const methods = new Set(lane.requests.flat().map(({ method }) => method))
    expect(methods).not.toContain('eth_estimateGas')
    expect(methods).not.toContain('eth_maxPriorityFeePerGas')
  })

  test('reveal nothing of a private transaction', async () => {
    await using lane = await farAway()
    await lane.rejection(lane.sender.send(bare(1), { private: true }))
    expect(estimates(lane)).toBe(0)
  })

  test('exclude a transaction that follows another one', async () => {
    await using lane = await farAway()
    const first = lane.sender.send(transfer(1), { id: 'a' })
    const second = lane.sender.send(bare(2), { after: ['a'] })
    await lane.settle(first)
    expect(estimates(lane)).toBe(0)
    await lane.settle(second)
    expect(estimates(lane)).toBe(1)
  })

  test.each<readonly [string, RpcReply]>([
    ['reverts', refuses('execution reverted', 3)],
    ['has no answer', TIMES_OUT],
    ['is answered with an invalid value', { ok: true, result: '0x1' }],
  ])('are repeated if the estimate %s', async (_, reply) => {
    await using lane = await farAway()
    let asked = 0
    lane.script = ({ method }) => (method === 'eth_estimateGas' && asked++ === 0 ? reply : undefined)
    const tx = await lane.settle(lane.sender.send(bare(1)))
    await lane.settle(tx.wait('sealed'))
    expect(asked).toBe(2)
  })

  test('are repeated if the account state was slow to read', async () => {
    await using lane = await farAway()
    const untilMs = lane.clock.now() + 5_000
    lane.script = ({ method }) =>
      method === 'eth_getCode' && lane.clock.now() < untilMs
        ? refuses('rate limit exceeded', -32005)
        : undefined
    await lane.settle(lane.sender.send(bare(1)))
    expect(estimates(lane)).toBe(2)
  })
})
