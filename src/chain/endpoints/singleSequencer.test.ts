import { base, mainnet, optimism, sepolia } from 'viem/chains'
import { expect, test } from 'vitest'
import { createSenderIn } from '../../api/sender/sender.js'
import { openLane } from '../../api/sender/simLane.fixture.js'
import { hasSingleSequencer } from './endpointPool.js'

test('the definition of a chain says whether one sequencer orders its transactions', () => {
  expect([base, optimism].map(hasSingleSequencer)).toEqual([true, true])
  expect([mainnet, sepolia].map(hasSingleSequencer)).toEqual([false, false])
  expect(hasSingleSequencer({ ...mainnet, custom: { singleSequencer: true } })).toBe(true)
})

test.each([
  [{ singleSequencer: true }, true],
  [{}, undefined],
])('the profile of each endpoint has it from the chain of the client: %j', async (custom, expected) => {
  await using lane = await openLane({ closed: true })
  const { client } = lane.parameters
  const chain = { ...client.chain, custom }
  const sender = createSenderIn(lane.environment, {
    ...lane.parameters,
    client: { ...client, chain } as never,
  })
  await lane.settle(sender.ready())
  const { endpoints } = await lane.settle(sender.snapshot())
  expect(endpoints.map(({ profile }) => profile)).toMatchObject([{ singleSequencer: expected }])
  await lane.settle(sender.close())
})
