import { describe, expect, test } from 'vitest'
import { createNonceAllocatorIn } from '../../api/allocators/allocator.js'
import { createSenderIn } from '../../api/sender/sender.js'
import { ACCOUNT, openLane, transfer } from '../../api/sender/simLane.fixture.js'
import { createShared } from '../../chain/environment.js'
import { memoryStore } from '../../store/memory.js'
import type { Store } from '../../types/store.js'

describe('storeBehindChain', () => {
  /** One transaction landed. Then the account continues without the lane. */
  async function openBehind() {
    const store = memoryStore()
    const lane = await openLane({ store })
    await lane.settle((await lane.settle(lane.sender.send(transfer(1)))).wait('finalized'))
    await lane.settle(lane.sender.close())
    lane.chain.adjust({ address: ACCOUNT, nonces: 5 })
    await lane.blocks(1)
    const environment = { ...lane.environment, shared: createShared() }
    return { lane, environment, parameters: { ...lane.parameters, store: withQueued(store) } }
  }

  test('holds a transaction that was queued before the start until resume', async () => {
    const { lane: opened, environment, parameters } = await openBehind()
    await using lane = opened
    const again = createSenderIn(environment, parameters)
    await lane.settle(again.ready())
    expect((await lane.settle(again.snapshot())).holds).toEqual(['storeBehindChain'])
    await lane.blocks(2)
    expect(lane.executed()).toEqual([1])
    again.resume()
    await lane.settle(again.drain())
    expect(lane.executed()).toEqual([1, 2])
    await lane.settle(again.close())
  })

  test('resume() during the opening accepts a hold that was reported already', async () => {
    const { lane: opened, environment, parameters } = await openBehind()
    await using lane = opened
    const again = createSenderIn(environment, parameters)
    again.on('held', () => again.resume())
    await lane.settle(again.ready())
    await lane.settle(again.drain())
    expect(lane.executed()).toEqual([1, 2])
    await lane.settle(again.close())
  })

  test('resume() before the report has no effect on the hold', async () => {
    const { lane: opened, environment, parameters } = await openBehind()
    await using lane = opened
    const again = createSenderIn(environment, parameters)
    again.resume()
    await lane.settle(again.ready())
    expect((await lane.settle(again.snapshot())).holds).toEqual(['storeBehindChain'])
    await lane.settle(again.close())
  })

  test('the same holds for resume() of an allocator', async () => {
    for (const isNotified of [false, true]) {
      const { lane: opened, environment, parameters } = await openBehind()
      await using lane = opened
      const allocator = createNonceAllocatorIn(environment, { ...parameters, address: ACCOUNT })
      if (isNotified) allocator.on('held', () => allocator.resume())
      const ready = allocator.ready()
      if (!isNotified) allocator.resume()
      await lane.settle(ready)
      await lane.clock.advance(0)
      expect(allocator.snapshot().holds).toEqual(isNotified ? [] : ['storeBehindChain'])
      await lane.settle(allocator.close())
    }
  })
})

describe('a lane that began below the nonces of its account, because every count was 0 for a time', () => {
  /**
   * The account sent this many transactions before. The process ends while its first payment cannot land.
   */
  async function openTooLow(earlier = 5) {
    const lane = await openLane({ store: memoryStore(), closed: true })
    lane.chain.start()
    for (let times = 1; times <= earlier; times++) {
      lane.foreign(times)
      await lane.blocks(1)
    }
    lane.script = ({ method, params }) =>
      method === 'eth_getTransactionCount' && (params[1] === 'latest' || params[1] === 'pending')
        ? { ok: true, result: '0x0' }
        : undefined
    await lane.settle(lane.sender.send(transfer(1), { until: 'queued' }))
    await lane.until(() => lane.sent.some(({ nonce }) => nonce === 0))
    await lane.settle(lane.sender.close())
    lane.script = undefined
    const again = createSenderIn({ ...lane.environment, shared: createShared() }, lane.parameters)
    return { lane, again }
  }

  test.each([2, 5, 70])(
    'the next process holds it until blocks show that the %i are older than the store',
    async (earlier) => {
      const { lane: opened, again } = await openTooLow(earlier)
      await using lane = opened
      await lane.settle(again.ready())
      expect((await lane.settle(again.snapshot())).holds).toEqual(['storeBehindChain'])
      await lane.settle(again.drain(), 30_000)
      expect((await lane.settle(again.snapshot())).holds).toEqual([])
      expect(lane.executed().slice(earlier)).toEqual([1])
      await lane.settle(again.close())
    },
  )

  test('stays held after one more send, which the store may have forgotten', async () => {
    const { lane: opened, again } = await openTooLow()
    await using lane = opened
    lane.foreign(6)
    await lane.blocks(1)
    await lane.settle(again.ready())
    await lane.blocks(20)
    expect((await lane.settle(again.snapshot())).holds).toEqual(['storeBehindChain'])
    expect(lane.executed()).toHaveLength(6)
    again.resume()
    await lane.settle(again.drain(), 30_000)
    expect(lane.executed().slice(6)).toEqual([1])
    await lane.settle(again.close())
  })
})

/** A copy of the store from before the chain advanced. It knows one queued transaction. */
function withQueued(store: Store): Store {
  return {
    ...store,
    async load(lease) {
      const state = await store.load(lease)
      const [known] = (await store.list([lease.lane], { limit: 1 })).items
      const fresh = {
        ...known,
        id: 'b',
        request: transfer(2),
        stage: 'queued',
        nonce: undefined,
        hash: undefined,
      }
      return { ...state, transactions: [fresh as never] }
    },
  }
}

test('a failed opening leaves no running work', async () => {
  const store = memoryStore()
  await using lane = await openLane({ store })
  await lane.settle((await lane.settle(lane.sender.send(transfer(1)))).wait('finalized'))
  await lane.settle(lane.sender.close())
  const again = createSenderIn(
    { ...lane.environment, shared: createShared() },
    { ...lane.parameters, store: withQueued(store) },
  )
  lane.script = (call) =>
    call.method === 'eth_getTransactionCount' ? { ok: true, result: '0xzz' } : undefined
  await lane.rejection(again.ready())
  lane.script = undefined
  await lane.blocks(3)
  expect(lane.executed()).toEqual([1])
})
