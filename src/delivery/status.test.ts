import { describe, expect, it } from 'vitest'
import { byHand, GETH, range, SEQUENCER } from './byHand.fixture.js'

describe('the status of a delivery', () => {
  it('has room for twice the window, less the sent and waiting nonces', () => {
    const lane = byHand(GETH)
    expect(lane.delivery.status).toMatchObject({ window: 64, most: 64, room: 128, gapBudget: 64, waiting: 0 })
    lane.offer(0, 10)
    expect(lane.delivery.status).toMatchObject({ room: 118, waiting: 10, outstanding: 0, end: 10, next: 0 })
    const sent = lane.sends()
    expect(lane.delivery.status).toMatchObject({ room: 118, waiting: 0, outstanding: 10, next: 10 })
    lane.taken(sent, 10)
    expect(lane.delivery.status).toMatchObject({ window: 64, room: 128, outstanding: 0, acknowledgedTo: 10 })
  })

  it('is bounded by the pool, with one window ahead', () => {
    const lane = byHand(GETH, { poolStart: 20 })
    expect(lane.delivery.status).toMatchObject({ window: 64, pool: 20, most: 20, room: 84 })
    lane.offer(0, 30)
    expect(lane.delivery.status).toMatchObject({ most: 20, room: 54 })
  })

  it('has room again for nonces that sealed blocks used', () => {
    const lane = byHand(GETH, { poolStart: 20 })
    lane.offer(0, 10)
    lane.taken(lane.sends(), 10)
    lane.refresh(10, 10, true)
    expect(lane.delivery.status).toMatchObject({ most: 20, pool: 20, room: 84, end: 10 })
  })

  it('is bounded by a limit of the account, and nothing is assigned ahead of that', () => {
    const lane = byHand({ ...GETH, accountMax: 4 })
    expect(lane.delivery.status).toMatchObject({ window: 64, most: 4, room: 4 })
    lane.offer(0, 3)
    expect(lane.delivery.status.room).toBe(1)
    lane.delivery.know({ accountMax: undefined })
    expect(lane.delivery.status).toMatchObject({ most: 64, room: 125 })
  })

  it('shows the calls per request, and the largest window that was acknowledged', () => {
    const lane = byHand(GETH, { batchStart: 32, windowStart: 16 })
    expect(lane.delivery.status).toMatchObject({ batch: 32, windowProven: 0, window: 16 })
    lane.offer(0, 16)
    lane.taken(lane.sends(), 16)
    expect(lane.delivery.status).toMatchObject({ batch: 34, windowProven: 16, window: 32 })
  })

  it('shows the lowest nonce if the endpoint lacks it or refuses it', () => {
    const lane = byHand(GETH)
    lane.offer(0, 3)
    const sent = lane.sends()
    expect(lane.delivery.status.missing).toBeUndefined()
    lane.end(sent.request, {
      end: 'answers',
      answers: [{ kind: 'refused' }, { kind: 'taken' }, { kind: 'taken' }],
      count: 0,
    })
    expect(lane.delivery.status.missing).toBe(0)
    expect([0, 1, 7].map(lane.delivery.isRefused)).toEqual([true, false, false])
    lane.delivery.withdraw(0)
    expect(lane.delivery.status.missing).toBeUndefined()
  })
})

describe('a nonce that was never offered', () => {
  it('is neither refused nor stranded, and sending it elsewhere does not add it', () => {
    const { delivery } = byHand(GETH)
    delivery.sentElsewhere(0)
    expect([delivery.has(0), delivery.isRefused(0), delivery.isStranded(0)]).toEqual([false, false, false])
    expect(delivery.status).toMatchObject({ end: 0, waiting: 0 })
  })
})

describe('a reclaim from an endpoint', () => {
  it('returns the nonces that it was not sent, or lacks', () => {
    const lane = byHand(SEQUENCER)
    lane.offer(0, 3)
    const sent = lane.sends()
    lane.offer(3, 6)
    expect(lane.delivery.reclaim()).toEqual([3, 4, 5])
    expect(range(0, 6).filter(lane.delivery.has)).toEqual([0, 1, 2])
    lane.end(sent.request, { end: 'failed' })
    expect(lane.delivery.reclaim()).toEqual([0, 1, 2])
    expect(range(0, 6).filter(lane.delivery.has)).toEqual([])
  })
})
