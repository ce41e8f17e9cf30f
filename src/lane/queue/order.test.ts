import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { between, chance, createRandom, deriveRandom } from '../../../test/sim/random.js'
import { runsOf } from '../../../test/support/runsOf.js'
import { openLane, refuses, type SimLane, TIMES_OUT, transfer } from '../../api/sender/simLane.fixture.js'
import type { RpcCall, RpcReply } from '../../rpc/port.js'
import type { Item, SendOptions, TxRequest } from '../../types/index.js'

/** A transfer without gas: the lane has to ask a node for an estimate. */
function unpriced(marker: number): TxRequest {
  const { gas: _, ...request } = transfer(marker) as TxRequest & { gas?: bigint }
  return request as TxRequest
}

const markers = (count: number, from = 1) => Array.from({ length: count }, (_, index) => from + index)

const isEstimate = ({ method }: RpcCall) => method === 'eth_estimateGas'

/** Delays each request that contains an estimate by a random time. */
function lateBy(seed: number, mostMs: number) {
  const random = createRandom(seed)
  return (calls: readonly RpcCall[]) => (calls.some(isEstimate) ? Math.floor(random() * mostMs) : 0)
}

/** Answers the estimates of the transfer with this marker. */
const estimateOf = (marker: number, answer: () => RpcReply | undefined) => (call: RpcCall) => {
  const [request] = call.params as [{ to?: string } | undefined]
  return isEstimate(call) && request?.to === (transfer(marker) as { to?: string }).to ? answer() : undefined
}

function sendAll(lane: SimLane, given: readonly (readonly [TxRequest, SendOptions?])[]) {
  const sent = given.map(([request, options]) => lane.sender.send(request, options))
  return Promise.allSettled(sent)
}

/** No-ops and foreign transactions on the chain: empty if every nonce was used by its own transaction. */
const dense = (lane: SimLane) => lane.executed().filter((one) => one === 'noop' || one === 'foreign')

async function landed(lane: SimLane): Promise<void> {
  await lane.settle(lane.sender.drain())
}

test('nonces follow the order of the calls, although the estimates are answered in another order', async () => {
  const burst = fc.record({
    seed: fc.nat(),
    count: fc.integer({ min: 2, max: 330 }),
    how: fc.constantFrom('send', 'sendMany'),
    // Percentage of the requests that bring their own gas.
    given: fc.constantFrom(0, 0, 50),
    order: fc.constantFrom('relaxed', 'strict'),
  })
  await fc.assert(
    fc.asyncProperty(burst, async ({ seed, count, how, given, order }) => {
      await using lane = await openLane({
        order: order as 'relaxed' | 'strict',
        lateMs: lateBy(seed, 900),
        limits: { batchMax: 40, window: 512 },
      })
      const random = deriveRandom(seed, 'given')
      const requests = markers(count).map((one) =>
        chance(random, given / 100) ? transfer(one) : unpriced(one),
      )
      if (how === 'send')
        await lane.settle(
          sendAll(
            lane,
            requests.map((one) => [one]),
          ),
        )
      else {
        const items: Item[] = requests.map((request) => ({ request }))
        await lane.settle(
          (async () => {
            for await (const result of lane.sender.sendMany(items)) expect(result.ok).toBe(true)
          })(),
        )
      }
      await landed(lane)
      expect(lane.executed()).toEqual(markers(count))
      expect(lane.events('reordered')).toEqual([])
    }),
    { numRuns: runsOf(12) },
  )
}, 60_000)

test('each priority keeps the order of the calls, and a lower priority does not delay a higher one', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(), async (seed) => {
      await using lane = await openLane({ lateMs: lateBy(seed, 900), limits: { batchMax: 20, window: 512 } })
      const random = deriveRandom(seed, 'priority')
      const given = markers(200).map((one) => ({ one, priority: between(random, 0, 2) }))
      await lane.settle(
        sendAll(
          lane,
          given.map(({ one, priority }) => [unpriced(one), { priority }]),
        ),
      )
      await landed(lane)
      expect(dense(lane)).toEqual([])
      for (const wanted of [0, 1, 2]) {
        const own = given.filter(({ priority }) => priority === wanted).map(({ one }) => one)
        expect(lane.executed().filter((one) => own.includes(one as number))).toEqual(own)
      }
    }),
    { numRuns: runsOf(8) },
  )
}, 60_000)

test('an expired or aborted transaction leaves no gap, and the transactions behind it keep their order', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(), async (seed) => {
      await using lane = await openLane({
        lateMs: lateBy(seed, 2_000),
        limits: { batchMax: 10, window: 512 },
      })
      const random = deriveRandom(seed, 'ends')
      const controller = new AbortController()
      const given = markers(100).map((one): [TxRequest, SendOptions] => {
        const way = between(random, 0, 3)
        if (way === 0) return [unpriced(one), { expires: { atMs: lane.clock.now() + 500 } }]
        return [unpriced(one), way === 1 ? { signal: controller.signal } : {}]
      })
      const sending = sendAll(lane, given)
      await lane.clock.advance(600)
      controller.abort()
      await lane.settle(sending)
      await landed(lane)
      const ran = lane.executed()
      expect(dense(lane)).toEqual([])
      expect(ran).toEqual([...ran].sort((a, b) => (a as number) - (b as number)))
      expect(ran).toEqual(expect.arrayContaining(markers(100).filter((at) => isPlain(given[at - 1]))))
    }),
    { numRuns: runsOf(8) },
  )
}, 60_000)

const isPlain = (one: readonly [TxRequest, SendOptions] | undefined) =>
  one !== undefined && one[1].expires === undefined && one[1].signal === undefined

describe('an estimate that fails and is retried', () => {
  test('relaxed: later transactions go first, and an event names the first of them and the reason', async () => {
    await using lane = await openLane()
    let failures = 2
    lane.script = estimateOf(1, () => (failures-- > 0 ? refuses('header not found') : undefined))
    await lane.settle(
      sendAll(lane, [[unpriced(1), { id: 'first' }], [unpriced(2), { id: 'second' }], [unpriced(3)]]),
    )
    await landed(lane)
    expect(lane.executed()).toEqual([2, 3, 1])
    expect(lane.events('reordered')).toMatchObject([
      {
        tx: { id: 'first' },
        by: { id: 'second' },
        waitingFor: { for: 'estimate', endpoint: 'sim', said: 'header not found', operator: false },
      },
    ])
    const [{ waitingFor }] = lane.events('reordered') as [{ waitingFor: { sentence: string } }]
    expect(waitingFor.sentence).toContain('"header not found"')
  })

  test('strict: later transactions wait, and no event is emitted', async () => {
    await using lane = await openLane({ order: 'strict' })
    let failures = 2
    lane.script = estimateOf(1, () => (failures-- > 0 ? TIMES_OUT : undefined))
    await lane.settle(sendAll(lane, [[unpriced(1)], [unpriced(2)], [transfer(3)]]))
    await landed(lane)
    expect(lane.executed()).toEqual([1, 2, 3])
    expect(lane.events('reordered')).toEqual([])
  })

  test('strict: a transaction that fails for good releases the transactions behind it', async () => {
    await using lane = await openLane({ order: 'strict' })
    lane.script = estimateOf(2, () => refuses('execution reverted', 3))
    const results = await lane.settle(
      sendAll(
        lane,
        markers(4).map((one) => [unpriced(one)]),
      ),
    )
    await landed(lane)
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled'])
    expect(lane.executed()).toEqual([1, 3, 4])
  })

  test('the option order: strict applies to one call alone', async () => {
    await using lane = await openLane()
    let failures = 2
    lane.script = estimateOf(1, () => (failures-- > 0 ? refuses('header not found') : undefined))
    await lane.settle(sendAll(lane, [[unpriced(1), { order: 'strict' }], [unpriced(2)]]))
    await landed(lane)
    expect(lane.executed()).toEqual([1, 2])
  })
})

describe('the condition of a transaction is not met yet', () => {
  const dependent = async (order: 'relaxed' | 'strict') => {
    const lane = await openLane({ order, chain: { blockTimeMs: 1_000, flashblockMs: 1_000 } })
    await lane.settle(
      sendAll(lane, [
        [transfer(1), { id: 'a' }],
        [transfer(2), { after: ['a'], afterStage: 'sealed' }],
        [transfer(3)],
        [unpriced(4)],
      ]),
    )
    await landed(lane)
    return lane
  }

  test('relaxed: later transactions go first, and an event reports it', async () => {
    await using lane = await dependent('relaxed')
    expect(lane.executed()).toEqual([1, 3, 4, 2])
    expect(lane.events('reordered')).toMatchObject([{ waitingFor: { for: 'condition', after: ['a'] } }])
  })

  test('strict: later transactions wait', async () => {
    await using lane = await dependent('strict')
    expect(lane.executed()).toEqual([1, 2, 3, 4])
    expect(lane.events('reordered')).toEqual([])
  })

  test('strict: a higher priority does not wait for it', async () => {
    await using lane = await openLane({ order: 'strict', chain: { blockTimeMs: 1_000, flashblockMs: 1_000 } })
    await lane.settle(
      sendAll(lane, [
        [transfer(1), { id: 'a' }],
        [transfer(2), { after: ['a'], afterStage: 'sealed' }],
        [transfer(3), { priority: 1 }],
      ]),
    )
    await landed(lane)
    expect(lane.executed()).toEqual([3, 1, 2])
  })
})

test('the store keeps the order strict, so that the next leader of the lane keeps the order too', async () => {
  await using lane = await openLane({ order: 'strict' })
  const sent = await lane.settle(lane.sender.send(transfer(1), { id: 'a', until: 'queued' }))
  const { store, client } = lane.parameters
  const key = { chainId: client.chain.id, genesisHash: lane.chain.canonical[0]?.hash as never }
  await lane.settle(sent.wait('sealed'))
  expect(await store?.find(key, { id: 'a' })).toMatchObject({ order: 'strict' })
})

test('calls from before the lane was open go before the calls from the turn in which it opens', async () => {
  await using lane = await openLane({ closed: true })
  lane.chain.start()
  const opened = lane.sender.ready().then(() => lane.sender.send(transfer(3)))
  const before = [lane.sender.send(transfer(1)), lane.sender.send(transfer(2))]
  await lane.settle(Promise.all([opened, ...before]))
  await landed(lane)
  expect(lane.executed()).toEqual([1, 2, 3])
})

test('an unknown order is rejected as INVALID at once, with the name of the option', async () => {
  await using lane = await openLane()
  await expect(
    lane.rejection(lane.sender.send(transfer(1), { order: 'fifo' as never })),
  ).resolves.toMatchObject({
    code: 'INVALID',
    shortMessage: expect.stringContaining('options.order'),
  })
  await expect(openLane({ order: 'fifo' as never })).rejects.toMatchObject({ code: 'INVALID' })
})
