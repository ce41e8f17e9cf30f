import { expect, test } from 'vitest'
import { createStubAccount } from '../../test/sim/stubAccount.js'
import { createPool } from './pool.js'
import { createMemberIn } from './sender.js'
import { openLane, type SimLane, swallow, transfer } from './simLane.fixture.js'

/** Requests in four seconds, while each of so many keys has a transaction that no node takes. */
async function requestsOf(keys: number): Promise<number> {
  const addresses = Array.from(
    { length: keys },
    (_, key) => `0x${String(key + 1).padStart(40, '0')}` as const,
  )
  const accounts = addresses.map((address) => ({ address, nonce: 0, balanceWei: 10n ** 18n }))
  await using lane = await openLane({ chain: { accounts } as never, closed: true })
  lane.chain.start()
  const members = addresses.map((address) =>
    createMemberIn(lane.environment, {
      ...lane.parameters,
      account: createStubAccount(address, { clock: lane.clock, delayMs: () => 0 }),
    }),
  )
  const pool = createPool(members)
  await lane.settle(pool.ready())
  expect(lane.environment.shared.hubs.size).toBe(1)
  const markers = addresses.map((_, index) => index + 1)
  lane.script = swallow(...markers)
  await lane.settle(Promise.all(markers.map((marker) => pool.send(transfer(marker)))))
  await lane.blocks(1)
  const before = ticksOf(lane)
  await lane.clock.advance(1_000)
  const ticks = ticksOf(lane) - before
  lane.script = undefined
  await lane.settle(pool.close())
  return ticks
}

/** The poller's own requests: each asks for the newest block. */
function ticksOf({ requests }: SimLane): number {
  return requests.filter(
    ([first]) => first?.method === 'eth_getBlockByNumber' && first.params[0] === 'latest',
  ).length
}

test('one poller for all keys: ten of them cost no more requests than one', async () => {
  const one = await requestsOf(1)
  expect(one).toBeGreaterThan(0)
  expect(await requestsOf(10)).toBeLessThanOrEqual(one + 1)
})
