import { expect, test } from 'vitest'
import { openLane, transfer } from '../api/sender/simLane.fixture.js'

test.each([0, 1, 2])(
  'an endpoint that answers every third request, from number %i on: the lane opens within `readyTimeoutMs`, and a transaction is sealed within a minute',
  async (phase) => {
    await using lane = await openLane({ closed: true })
    lane.chain.start()
    lane.refusal = (calls) =>
      lane.requests.length % 3 === phase
        ? undefined
        : calls.map(() => ({ ok: false, failure: { kind: 'http', status: 429, message: 'HTTP 429' } }))
    await lane.settle(lane.sender.ready(), 30_000)
    const tx = await lane.settle(lane.sender.send(transfer(1)), 30_000)
    await lane.settle(tx.wait('sealed'), 30_000)
    expect(lane.executed()).toEqual([1])
  },
)
