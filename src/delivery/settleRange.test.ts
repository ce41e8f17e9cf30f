import { describe, expect, it } from 'vitest'
import type { SendAnswer } from './answer.js'
import { byHand, SEQUENCER } from './byHand.fixture.js'

const TAKEN: SendAnswer = { kind: 'taken' }

describe('the range of nonces that an endpoint accepts', () => {
  it.each([
    ['starts at the nonce that the endpoint expects', 10, 12, 3],
    ['may be that nonce alone', 10, 10, 1],
    ['bounds nothing if its end lies below that nonce', 13, 12, 4_000],
  ])('%s', (_, expected, nonceMax, pool) => {
    const lane = byHand(SEQUENCER, { floor: 10 })
    lane.offer(10, 14)
    const answers: SendAnswer[] = [TAKEN, TAKEN, TAKEN, { kind: 'gapped', expected, nonceMax }]
    lane.end(lane.sends().request, { end: 'answers', answers })
    expect(lane.delivery.status.pool).toBe(pool)
  })
})
