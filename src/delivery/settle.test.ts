import { describe, expect, it } from 'vitest'
import type { SendAnswer } from './answer.js'
import { byHand, GETH, range, SEQUENCER, SIZE } from './byHand.fixture.js'

const TAKEN: SendAnswer = { kind: 'taken' }

describe('answers', () => {
  it('end the pauses after failures', () => {
    const lane = byHand(SEQUENCER)
    lane.offer(0, 1)
    for (const ms of [0, 0, 100]) {
      lane.at(ms)
      lane.end(lane.sends().request, { end: 'failed' })
    }
    lane.at(300)
    lane.taken(lane.sends())
    lane.offer(1, 2)
    lane.end(lane.sends().request, { end: 'failed' })
    expect(lane.sends().nonces).toEqual([1])
  })

  it('of a full pool halve the window, and hold a nonce back until a block or two refreshes came', () => {
    const lane = byHand(GETH)
    lane.offer(0, 2)
    lane.end(lane.sends().request, { end: 'answers', answers: [{ kind: 'full' }, { kind: 'full' }] })
    expect(lane.delivery.status).toMatchObject({ window: 32, pool: 1 })
    expect(lane.next().do).toBe('wait')
    lane.at(1_000)
    lane.refresh(0, 0, true)
    expect(lane.sends().nonces).toEqual([0])
  })

  it('that name the highest nonce which the endpoint takes bound what it is sent', () => {
    const lane = byHand(SEQUENCER)
    lane.offer(0, 22)
    const answers = range(0, 22).map(
      (nonce): SendAnswer => (nonce <= 20 ? TAKEN : { kind: 'gapped', expected: 0, nonceMax: 20 }),
    )
    lane.end(lane.sends().request, { end: 'answers', answers })
    expect(lane.delivery.status.pool).toBe(21)
    expect(lane.next().do).toBe('wait')
    lane.at(200)
    lane.refresh(1, 1, true)
    expect(lane.sends().nonces).toEqual([21])
  })

  it('that refuse other bytes leave the nonce where it is', () => {
    const lane = byHand(SEQUENCER)
    lane.offer(0, 2)
    lane.taken(lane.sends())
    lane.delivery.offer(0, SIZE)
    lane.end(lane.sends().request, { end: 'answers', answers: [{ kind: 'refused' }] })
    lane.offer(2, 3)
    expect(lane.sends().nonces).toEqual([2])
  })

  it('that lack one for a nonce leave it to the count, or have it sent again', () => {
    const lane = byHand(GETH)
    lane.offer(0, 3)
    lane.end(lane.sends().request, { end: 'answers', answers: [TAKEN, TAKEN] })
    expect(lane.next().do).toBe('count')
    const other = byHand(SEQUENCER)
    other.offer(0, 3)
    other.end(other.sends().request, { end: 'answers', answers: [TAKEN, TAKEN] })
    expect(other.sends().nonces).toEqual([2])
  })

  it('of a nonce that overtook the one below it have it sent after that, and blame nothing', () => {
    const lane = byHand({ countsMempool: false, gapBudget: 1 })
    lane.offer(0, 1)
    const first = lane.sends()
    lane.offer(1, 2)
    const second = lane.sends()
    lane.end(second.request, {
      end: 'answers',
      answers: [{ kind: 'gapped', expected: 0, nonceMax: undefined }],
    })
    lane.taken(first)
    expect(lane.sends().nonces).toEqual([1])
    expect(lane.delivery.status.window).toBe(64)
  })

  it('of an endpoint that lags behind what it took have it asked again after a pause', () => {
    const lane = byHand(SEQUENCER)
    lane.offer(0, 1)
    lane.taken(lane.sends())
    lane.refresh(1)
    lane.offer(1, 2)
    const times: number[] = []
    for (let ms = 0; ms < 1_000; ms += 50) {
      lane.at(ms)
      const action = lane.next()
      if (action.do !== 'send') continue
      times.push(ms)
      lane.end(action.request, {
        end: 'answers',
        answers: [{ kind: 'gapped', expected: 0, nonceMax: undefined }],
      })
    }
    expect(times).toEqual([0, 100, 300, 700])
  })

  it('that refuse a batch for its size have half of it sent at once', () => {
    const lane = byHand(SEQUENCER)
    lane.offer(0, 8)
    lane.end(lane.sends().request, { end: 'batchRefused' })
    const half = lane.sends()
    expect(half.nonces).toEqual([0, 1, 2, 3])
    expect(lane.next().do).toBe('wait')
    lane.taken(half)
    expect(lane.sends().nonces).toEqual([4, 5, 6, 7])
  })
})

describe('what is known of an endpoint', () => {
  it('has what the count was to tell sent again, once it is known that no count tells it', () => {
    const lane = byHand(GETH)
    lane.offer(0, 2)
    lane.end(lane.sends().request, { end: 'failed' })
    lane.delivery.know({ countsMempool: false })
    expect(lane.sends().nonces).toEqual([0, 1])
  })

  it('sends few at once, one request at a time, while counts may show whether they include the pool', () => {
    const lane = byHand({})
    lane.offer(0, 100)
    const action = lane.next()
    expect(action).toMatchObject({ do: 'send', nonces: range(0, 16), count: true })
    expect(lane.next().do).toBe('wait')
  })
})
