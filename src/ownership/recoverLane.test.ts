import { expect, test } from 'vitest'
import { openLane } from '../api/sender/simLane.fixture.js'

test('a changed pending block does not repeat the reads of an account that the request budget divides', async () => {
  await using lane = await openLane({
    closed: true,
    limits: { callsPerSecond: 2 },
    chain: { blockTimeMs: 1_000 },
  })
  lane.chain.start()
  await lane.settle(lane.sender.ready())
  // Two readings are held against each other.
  const calls = lane.requests
    .flat()
    .filter(({ method, params }) => method === 'eth_getCode' && params[1] === 'pending')
  expect(calls).toHaveLength(2)
})
