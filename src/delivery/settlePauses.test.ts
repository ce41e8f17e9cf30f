import { describe, expect, it } from 'vitest'
import { type ByHand, byHand, GETH, SEQUENCER, SIZE } from './byHand.fixture.js'
import type { RequestEnd, SendAnswer } from './settle.js'

const TAKEN: SendAnswer = { kind: 'taken' }

/** The times of requests that all end like this, and the number of nonces in each. */
function requestsOf(lane: ByHand, end: RequestEnd, untilMs: number): [atMs: number, size: number][] {
  const requests: [atMs: number, size: number][] = []
  for (let ms = 0; ms < untilMs; ms += 50) {
    lane.at(ms)
    const action = lane.next()
    if (action.do !== 'send') continue
    requests.push([ms, action.nonces.length])
    lane.end(action.request, end)
  }
  return requests
}

describe('the pause after a request without an answer', () => {
  it('stays shortest as long as the size of the request may be the reason, and doubles after single calls', () => {
    const lane = byHand(SEQUENCER)
    lane.offer(0, 8)
    expect(requestsOf(lane, { end: 'failed' }, 1_200)).toEqual([
      [0, 8],
      [50, 8],
      [150, 4],
      [250, 2],
      [350, 1],
      [450, 1],
      [650, 1],
      [1_050, 1],
    ])
  })

  it('doubles if the answer to a single nonce is missing, although the request has one', () => {
    const lane = byHand(SEQUENCER)
    lane.offer(0, 1)
    const requests = requestsOf(lane, { end: 'answers', answers: [{ kind: 'unanswered' }] }, 2_000)
    expect(requests.map(([ms]) => ms)).toEqual([0, 50, 150, 350, 750, 1_550])
  })
})

describe('the pause of a nonce that the pool has no room for', () => {
  it('doubles each time if no block comes', () => {
    const lane = byHand(GETH)
    lane.offer(0, 1)
    for (const [ms, untilMs] of [
      [0, 30_000],
      [30_000, 90_000],
      [90_000, 210_000],
    ] as const) {
      lane.at(ms)
      lane.end(lane.sends().request, { end: 'answers', answers: [{ kind: 'full' }], count: 0 })
      expect(lane.next()).toEqual({ do: 'wait', untilMs })
    }
  })
})

describe('the pause of an endpoint that lacks a nonce', () => {
  it('is left out if the nonce has other bytes meanwhile, which are sent in any case', () => {
    const lane = byHand(GETH)
    lane.offer(0, 3)
    const { request } = lane.sends()
    lane.count(2)
    lane.delivery.offer(0, SIZE)
    lane.end(request, {
      end: 'answers',
      answers: [TAKEN, TAKEN, { kind: 'gapped', expected: 0, nonceMax: undefined }],
    })
    expect(lane.sends().nonces).toEqual([0, 2])
  })
})
