import type { Address, LocalAccount } from 'viem'
import { expect, test } from 'vitest'
import { createStubAccount } from '../../test/sim/stubAccount.js'
import { safeNonce } from '../allocator/sources.js'
import { createShared } from '../chain/environment.js'
import { createLoader } from '../platform/lazy.js'
import { createViemNonceManagerIn } from '../viem/nonceManager.js'
import { createNonceAllocatorIn } from './allocators/allocator.js'
import { createLanesIn } from './lanes.js'
import { createPool } from './pool/pool.js'
import * as runtime from './runtime.js'
import { createMemberIn, createSenderIn } from './sender/sender.js'
import { openLane, transfer } from './sender/simLane.fixture.js'
import { systemEnvironment } from './systemEnvironment.js'

const addressOf = (index: number): Address => `0x${index.toString(16).padStart(40, '0')}`

/** A lane whose code is not loaded yet. The first `failures` loads fail. */
async function withLoads(failures = 0) {
  const lane = await openLane({ closed: true })
  lane.chain.start()
  const counts = { loads: 0 }
  const load = createLoader('The code', async () => {
    if (++counts.loads <= failures) throw new TypeError('Failed to fetch dynamically imported module')
    return runtime
  })
  const environment = { ...lane.environment, shared: createShared(), runtime: load }
  const { client, store } = lane.parameters
  const open = () => createSenderIn(environment, lane.parameters)
  const allocator = () => createNonceAllocatorIn(environment, { client, store, address: addressOf(0xaa) })
  return { lane, counts, environment, open, allocator }
}

test('senders, lanes, pools, allocators and nonce managers load nothing until one of them opens a lane', async () => {
  const { lane, counts, environment, open, allocator } = await withLoads()
  await using _ = lane
  const { client, store } = lane.parameters
  const accounts = Array.from({ length: 100 }, (__, index) => createStubAccount(addressOf(index + 1)))
  const senders = [
    open(),
    ...accounts.map((account) => createSenderIn(environment, { client, store, account })),
  ]
  const lanes = createLanesIn(environment, { chains: [{ client, store }] })
  for (const account of accounts) senders.push(lanes.sender({ chainId: client.chain.id, account }))
  const make = (account: LocalAccount) => createMemberIn(environment, { client, store, account })
  senders.push(createPool(accounts.map(make), { make }))
  for (const sender of senders) {
    sender.on('held', () => {})
    expect(sender.inFlight()).toEqual([])
    sender.observe({ hashes: [], blockNumber: 0n })
    await expect(sender.send({ to: '0x1' as never })).rejects.toMatchObject({ code: 'INVALID' })
  }
  const source = safeNonce({ safe: addressOf(1) })
  const counter = createNonceAllocatorIn(environment, { client, store, address: addressOf(0xaa), source })
  for (const one of [allocator(), counter as unknown as ReturnType<typeof allocator>]) {
    one.on('gap', () => {})
    one.resume()
    expect(() => one.snapshot()).toThrow('has not been read yet')
    await expect(one.reserveMany(0)).rejects.toMatchObject({ code: 'INVALID' })
    await one.close()
    await expect(one.reserve()).rejects.toMatchObject({ code: 'CLOSED' })
  }
  await createViemNonceManagerIn(environment, {}).close()
  expect(counts.loads).toBe(0)

  const [sender] = senders as [(typeof senders)[number]]
  await lane.settle(sender.ready())
  expect(counts.loads).toBe(1)
  for (const each of senders) await lane.settle(each.close())
})

test('a failed load is reported like a failed opening, and the next call loads again', async () => {
  const { lane, counts, open } = await withLoads(2)
  await using _ = lane
  await using sender = open()
  const failed = { name: 'TxlaneError', code: 'REJECTED', shortMessage: 'The code could not be loaded.' }
  expect(await lane.rejection(sender.send(transfer(1)))).toMatchObject({ ...failed, fate: 'notExecuted' })
  // An earlier process life may have sent it, and the store was not read.
  expect(await lane.rejection(sender.send(transfer(2), { id: 'known' }))).toMatchObject({
    ...failed,
    fate: 'inFlight',
  })
  await lane.settle(sender.send(transfer(3)))
  expect(counts.loads).toBe(3)
  await lane.settle(sender.close())
})

test('concurrent lanes load the code once, and later lanes have it in the turn of the call', async () => {
  const { lane, counts, environment, open, allocator } = await withLoads()
  await using _ = lane
  const [sender, other, reserving] = [open(), open(), allocator()]
  await lane.settle(Promise.all([sender.ready(), other.ready(), reserving.ready(), reserving.resync()]))
  expect(counts.loads).toBe(1)
  expect(environment.runtime()).toBe(runtime)
  await lane.settle(Promise.all([sender.close(), other.close(), reserving.close()]))
})

test('an allocator that cannot load reports it and tries again; a waiting caller can be stopped', async () => {
  const { lane, counts, environment, allocator } = await withLoads(1)
  await using _ = lane
  const first = allocator()
  expect(await lane.rejection(first.reserve())).toMatchObject({ code: 'REJECTED', fate: 'notExecuted' })
  const { nonce } = await lane.settle(first.reserve())
  expect(nonce).toBe(0)
  expect(counts.loads).toBe(2)
  await lane.settle(first.close())

  const never = { ...environment, runtime: () => new Promise<never>(() => {}) }
  const { client, store } = lane.parameters
  const waiting = createNonceAllocatorIn(never, { client, store, address: addressOf(0xaa) })
  const controller = new AbortController()
  const aborted = lane.rejection(waiting.reserve({ signal: controller.signal }))
  controller.abort()
  expect(await aborted).toMatchObject({ code: 'ABORTED' })
  const closed = lane.rejection(waiting.reserve())
  await waiting.close()
  expect(await closed).toMatchObject({ code: 'CLOSED' })
})

test('the process loads the code once, and has it at once from then on', async () => {
  const first = await systemEnvironment().runtime()
  expect(systemEnvironment().runtime()).toBe(first)
  expect(Object.keys(first).sort()).toEqual(Object.keys(runtime).sort())
})
