import type { Client } from 'viem'
import { expect, test } from 'vitest'
import { createChain } from '../../../test/sim/chain/chain.js'
import { NO_FAULTS } from '../../../test/sim/port/faults.js'
import { createSimPort } from '../../../test/sim/port/simPort.js'
import { createRandom } from '../../../test/sim/random.js'
import { createSimClient } from '../../../test/sim/simClient.js'
import { createStubAccount } from '../../../test/sim/stubAccount.js'
import { createVirtualClock } from '../../../test/sim/virtualClock.js'
import { createShared, type Environment } from '../../chain/environment.js'
import { memoryStore } from '../../store/memory.js'
import type { Limits } from '../../types/index.js'
import type { Store } from '../../types/store.js'
import { createViemNonceManagerIn } from '../../viem/nonceManager.js'
import * as runtime from '../runtime.js'
import { createSenderIn } from '../sender/sender.js'
import { createNonceAllocatorIn } from './allocator.js'

const address = '0x1111111111111111111111111111111111111111'

/** A process on a simulated chain in virtual time. `restart` returns the next process with the same store. */
function setUp(store: Store = memoryStore()) {
  const clock = createVirtualClock()
  const chain = createChain({
    clock,
    random: createRandom(1),
    accounts: [{ address, balanceWei: 10n ** 18n }],
  })
  const account = createStubAccount(address)
  chain.start()

  function start() {
    const open = () => createSimPort(chain, { clock, random: createRandom(2), faults: { ...NO_FAULTS } })
    const environment: Environment = {
      clock,
      random: createRandom(3),
      portsOf: () => [{ port: open(), role: 'both' }],
      runtime: () => runtime,
      shared: createShared(),
    }
    const client = createSimClient({ port: open(), chainId: 8453, account })
    return {
      client: client as unknown as Client,
      environment,
      allocator: (limits: Partial<Limits> = {}) =>
        createNonceAllocatorIn(environment, {
          client: client as never,
          address,
          store,
          limits,
          lossDepth: 'child',
        }),
      sender: () =>
        createSenderIn(environment, {
          client: client as never,
          store,
          lossDepth: 'child',
          coldStart: 'immediate',
        }),
    }
  }

  /** Advances virtual time until the promise settles. */
  async function settled<T>(promise: Promise<T>): Promise<T> {
    let done = false
    const mark = () => {
      done = true
    }
    promise.then(mark, mark)
    if (!(await clock.runUntil(() => done, 60_000))) throw new Error('it took more than a minute')
    return promise
  }

  return { clock, chain, store, settled, ...start(), restart: start }
}

/** A store whose writes wait until the test releases them. */
function slowStore() {
  const store = memoryStore()
  let open: (() => void) | undefined
  let gate = Promise.resolve()
  return {
    store: {
      ...store,
      write: (...given: Parameters<Store['write']>) => gate.then(() => store.write(...given)),
    },
    shut() {
      gate = new Promise((resolve) => {
        open = resolve
      })
    },
    open: () => open?.(),
  }
}

test('emits a gap for a reserved nonce without news after its TTL, and settle restarts the TTL', async () => {
  const { clock, allocator, settled } = setUp()
  const lane = allocator({ reservationTtlMs: 10_000 })
  const reported: number[] = []
  lane.on('gap', ({ nonce }) => reported.push(nonce))
  const [first, second] = await settled(lane.reserveMany(2))
  await clock.advance(9_000)
  await first?.settle(new Error('timeout'))
  expect(reported).toEqual([])
  await clock.advance(1_000)
  expect(reported).toEqual([second?.nonce])
  await clock.advance(9_000)
  expect(reported).toEqual([1, 0])
})

test('an allocator without a sender can lift a hold that waits for an operator', async () => {
  const { allocator, sender, settled } = setUp()
  const [lane, other] = [allocator(), sender()]
  await settled(lane.ready())
  await settled(other.ready())
  other.pause()
  const waits = lane.reserve()
  await settled(other.close())
  lane.resume()
  expect((await settled(waits)).nonce).toBe(0)
})

test('emits no gap for a released nonce', async () => {
  const { clock, allocator, settled } = setUp()
  const lane = allocator({ reservationTtlMs: 1_000 })
  const reported: number[] = []
  lane.on('gap', ({ nonce }) => reported.push(nonce))
  const reservation = await settled(lane.reserve())
  await settled(reservation.release())
  await clock.advance(30_000)
  expect(reported).toEqual([])
})

test('P3: hands out released nonces again although the window is full, because higher nonces wait for them', async () => {
  const { allocator, settled } = setUp()
  const lane = allocator({ windowMax: 4 })
  const [first, second] = await settled(lane.reserveMany(4))
  await settled(Promise.all([first?.release(), second?.release()]))
  await expect(settled(lane.reserveMany(3))).rejects.toMatchObject({ code: 'QUEUE_FULL' })
  expect((await settled(lane.reserveMany(2))).map(({ nonce }) => nonce)).toEqual([0, 1])
  await expect(settled(lane.reserve())).rejects.toMatchObject({ code: 'QUEUE_FULL' })
})

test('does not hand out the nonces of an earlier process life again, and watches them', async () => {
  const { clock, allocator, restart, settled } = setUp()
  const before = allocator()
  await settled(before.reserveMany(2))
  await settled(before.close())
  const after = restart().allocator({ reservationTtlMs: 5_000 })
  const reported: number[] = []
  after.on('gap', ({ nonce }) => reported.push(nonce))
  expect((await settled(after.reserve())).nonce).toBe(2)
  await clock.advance(5_000)
  expect(reported).toEqual([0, 1, 2])
})

test('a lane under a hold reserves no nonce until the hold is lifted', async () => {
  const { clock, allocator, sender, settled } = setUp()
  const lane = allocator()
  const other = sender()
  await settled(Promise.all([lane.ready(), other.ready()]))
  other.pause()
  let reserved: number | undefined
  const waiting = lane.reserve().then(({ nonce }) => {
    reserved = nonce
  })
  await clock.advance(20_000)
  expect(reserved).toBeUndefined()
  other.resume()
  await settled(waiting)
  expect(reserved).toBe(0)
})

test('a nonce is in the store before the caller gets it', async () => {
  const { store, shut, open } = slowStore()
  const { clock, allocator, settled } = setUp(store)
  const lane = allocator()
  await settled(lane.ready())
  shut()
  let seen = false
  const reserving = lane.reserve().then(() => {
    seen = true
  })
  await clock.advance(5_000)
  expect(seen).toBe(false)
  open()
  await settled(reserving)
})

test('a reservation that is aborted during its write releases its nonce', async () => {
  const { store, shut, open } = slowStore()
  const { clock, allocator, settled } = setUp(store)
  const lane = allocator()
  await settled(lane.ready())
  shut()
  const controller = new AbortController()
  const reserving = lane.reserve({ signal: controller.signal })
  const refused = expect(reserving).rejects.toMatchObject({ code: 'ABORTED', fate: 'notExecuted' })
  await clock.advance(100)
  controller.abort()
  await refused
  open()
  expect((await settled(lane.reserve())).nonce).toBe(0)
})

test('close rejects the callers that wait for a nonce', async () => {
  const { clock, allocator, sender, settled } = setUp()
  const lane = allocator()
  const other = sender()
  await settled(Promise.all([lane.ready(), other.ready()]))
  other.pause()
  const refused = expect(lane.reserve()).rejects.toMatchObject({ code: 'CLOSED', fate: 'notExecuted' })
  await clock.advance(1_000)
  await settled(lane.close())
  await refused
})

test("viem's plug-in releases an idle lane, and hands out no nonce twice when the lane opens again", async () => {
  const { clock, chain, client, environment, store, settled } = setUp()
  const manager = createViemNonceManagerIn(environment, { store })
  const key = { address, chainId: 8453, client } as const
  const all = await settled(Promise.all(Array.from({ length: 5 }, () => manager.consume(key))))
  expect(all.sort()).toEqual([0, 1, 2, 3, 4])
  manager.reset(key)
  await clock.advance(10_000)
  chain.stop()
  await clock.run(10_000)
  expect(clock.pendingTimers).toBe(0)
  chain.start()
  expect(await settled(manager.consume(key))).toBe(5)
})

test("viem's plug-in does not wait forever for a lane under a hold", async () => {
  const { client, environment, sender, store, settled } = setUp()
  const other = sender()
  await settled(other.ready())
  other.pause()
  const manager = createViemNonceManagerIn(environment, { store })
  const refused = manager.consume({ address, chainId: 8453, client })
  await expect(settled(refused.catch((error: unknown) => Promise.reject(error)))).rejects.toMatchObject({
    code: 'BLOCKED',
    fate: 'notExecuted',
    shortMessage: expect.stringContaining('paused'),
  })
})
