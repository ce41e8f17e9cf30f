import { getAddress } from 'viem'
import { expect, test } from 'vitest'
import { openPools, transfer as payment } from '../api/pool/poolRelief.fixture.js'
import { openProcesses } from '../api/sender/processes.fixture.js'
import { ACCOUNT, onSend, openLane, refuses, transfer } from '../api/sender/simLane.fixture.js'

test('each event names its lane', async () => {
  await using lane = await openLane({ balanceWei: 0n })
  const ofLane = { chainId: lane.chain.settings.chainId, address: getAddress(ACCOUNT) }
  const late: unknown[] = []
  await lane.settle(lane.sender.send(transfer(1), { until: 'queued' }))
  await lane.blocks(3)
  lane.sender.on('held', (payload) => void late.push(payload))
  lane.sender.pause()
  lane.chain.adjust({ address: ACCOUNT, balanceWei: 10n ** 18n })
  lane.sender.resume()
  await lane.settle(lane.sender.drain())
  lane.foreign()
  lane.script = onSend(() => refuses('nonce too low'))
  await lane.blocks(3)
  lane.script = undefined
  const names = new Set(lane.reported.map(({ event }) => event))
  const expected = ['queued', 'sealed', 'held', 'released', 'endpoint', 'foreign', 'waiting', 'leaseGained']
  expect([...names]).toEqual(expect.arrayContaining(expected))
  for (const { event, payload } of lane.reported)
    expect({ event, ...payload }).toMatchObject({ event, ...ofLane })
  expect(late).toContainEqual({ reason: 'paused', ...ofLane })
})

test('a listener that joins a lane under a hold gets the hold with the name of the lane', async () => {
  await using lane = await openLane()
  lane.sender.pause()
  const { createSenderIn } = await import('../api/sender/sender.js')
  const second = createSenderIn(lane.environment, lane.parameters)
  const heard: unknown[] = []
  second.on('held', (payload) => void heard.push(payload))
  await lane.settle(second.ready())
  const address = getAddress(ACCOUNT)
  expect(heard).toEqual([{ reason: 'paused', chainId: lane.chain.settings.chainId, address }])
  await lane.settle(second.close())
})

test('one listener of a pool can distinguish its lanes', async () => {
  await using pools = await openPools([10n ** 18n, 10n ** 18n])
  const { lane, pool } = pools
  const { senders } = pool
  const held: unknown[] = []
  pool.on('held', ({ address }) => void held.push(address))
  pool.pause()
  await lane.settle(pool.ready())
  for (const [marker, { address }] of senders.entries())
    await lane.settle(pool.send({ ...payment(marker), account: address } as never, { until: 'queued' }))
  expect(new Set(held)).toEqual(new Set(senders.map(({ address }) => getAddress(address))))
  pool.resume()
  await lane.settle(pool.drain())
})

test('a lease that is gained, taken over or lost is emitted and logged', async () => {
  const logged: (object & { message?: string | undefined })[] = []
  const log = (fields: object, message?: string) => void logged.push({ ...fields, message })
  await using world = await openProcesses({ logger: { info: log, warn: log } })
  const { lane } = world
  const [leader, standby] = await world.pair()
  expect(leader.events('leaseGained')).toMatchObject([{ epoch: 1, takeover: false }])
  expect(standby.events('leaseGained')).toEqual([])
  const tx = await lane.settle(standby.sender.send(transfer(1), { until: 'queued' }))
  leader.freeze()
  await lane.until(() => standby.events('leaseGained').length > 0)
  expect(standby.events('leaseGained')).toMatchObject([{ epoch: 2, takeover: true }])
  leader.thaw()
  await lane.until(() => leader.events('leaseLost').length > 0)
  await lane.settle(tx.wait())
  const ofLane = { chainId: lane.chain.settings.chainId, address: getAddress(ACCOUNT) }
  expect(logged.filter(({ message }) => message?.startsWith('lease'))).toEqual([
    { ...ofLane, epoch: 1, takeover: false, message: 'lease gained' },
    { ...ofLane, epoch: 2, takeover: true, message: 'lease gained' },
    { ...ofLane, epoch: 1, message: 'lease lost' },
  ])
})
