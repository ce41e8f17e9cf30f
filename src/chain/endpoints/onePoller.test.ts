import type { Address } from 'viem'
import { expect, test } from 'vitest'
import { createStubAccount } from '../../../test/sim/stubAccount.js'
import { createLanesIn, type LanesParameters } from '../../api/lanes.js'
import { createPool } from '../../api/pool/pool.js'
import { createMemberIn } from '../../api/sender/sender.js'
import { openLane, type SimLane, swallow, transfer } from '../../api/sender/simLane.fixture.js'

/** Requests in four seconds, while each of so many keys has a transaction that no node takes. */
async function requestsOf(keys: number): Promise<number> {
  const addresses = Array.from(
    { length: keys },
    (_, key) => `0x${String(key + 1).padStart(40, '0')}` as const,
  )
  const accounts = addresses.map((address) => ({ address, nonce: 0, balanceWei: 10n ** 18n }))
  await using lane = await openLane({ chain: { accounts } as never, closed: true })
  lane.chain.start()
  const make = ({ address }: { address: Address }) =>
    createMemberIn(lane.environment, {
      ...lane.parameters,
      account: createStubAccount(address, { clock: lane.clock, delayMs: () => 0 }),
    })
  const pool = createPool(
    addresses.map((address) => make({ address })),
    { make },
  )
  await lane.settle(pool.ready())
  expect(lane.environment.shared.endpointPools.size).toBe(1)
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

test('one poller serves all keys: ten keys cost no more requests than one', async () => {
  const one = await requestsOf(1)
  expect(one).toBeGreaterThan(0)
  expect(await requestsOf(10)).toBeLessThanOrEqual(one + 1)
})

test('lanes of many accounts have one store and one poller, and wait for one another by id', async () => {
  const addresses = [1, 2, 3].map((key) => `0x${String(key).padStart(40, '0')}` as const)
  const accounts = addresses.map((address) => ({ address, nonce: 0, balanceWei: 10n ** 18n }))
  await using lane = await openLane({ chain: { accounts } as never, closed: true })
  lane.chain.start()
  // No store is named, and each lane is asked for by itself.
  const { store: _, ...chain } = lane.parameters
  const lanes = createLanesIn(lane.environment, { chains: [chain] } as unknown as LanesParameters<[]>)
  const chainId = chain.client.chain.id as never
  const senders = addresses.map((address) =>
    lanes.sender({
      chainId,
      account: createStubAccount(address, { clock: lane.clock, delayMs: () => 0 }),
    }),
  )
  const ids = addresses.map((_, index) => `of lane ${index}`)
  const landed: Promise<{ status?: string | undefined }>[] = []
  for (const [index, sender] of senders.entries()) {
    const after = index === 0 ? {} : { after: [ids[index - 1] as string] }
    const options = { id: ids[index], until: 'queued', ...after } as const
    landed.push((await lane.settle(sender.send(transfer(index + 1), options))).wait())
  }
  const statuses = (await lane.settle(Promise.all(landed))).map(({ status }) => status)
  expect(statuses).toEqual(addresses.map(() => 'success'))
  expect(lane.environment.shared.endpointPools.size).toBe(1)
  expect(await lane.settle(senders[2]!.get(ids[2]!))).toMatchObject({ id: ids[2] })
  await lane.settle(lanes.close())
})
