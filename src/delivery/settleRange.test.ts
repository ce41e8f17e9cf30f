import { describe, expect, it } from 'vitest'
import type { SendAnswer } from './answer.js'
import { byHand, SEQUENCER } from './byHand.fixture.js'

const TAKEN: SendAnswer = { kind: 'taken' }

describe('the nonces that an endpoint says it takes', () => {
  it.each([
    ['are counted from the one that it expects', 10, 12, 3],
    ['may be that one alone', 10, 10, 1],
    ['bound nothing where the highest lies below that one', 13, 12, 4_000],
  ])('%s', (_, expected, nonceMax, pool) => {
    const lane = byHand(SEQUENCER, { floor: 10 })
    lane.offer(10, 14)
    const answers: SendAnswer[] = [TAKEN, TAKEN, TAKEN, { kind: 'gapped', expected, nonceMax }]
    lane.end(lane.sends().request, { end: 'answers', answers })
    expect(lane.delivery.status.pool).toBe(pool)
  })
})
