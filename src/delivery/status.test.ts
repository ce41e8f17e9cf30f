import { describe, expect, it } from 'vitest'
import { byHand, GETH, range, SEQUENCER } from './byHand.fixture.js'

describe('what a delivery tells of itself', () => {
  it('how many more may be handed out: twice the window, less what is sent or waits', () => {
    const lane = byHand(GETH)
    expect(lane.delivery.status).toMatchObject({ window: 64, most: 64, room: 128, gapBudget: 64, waiting: 0 })
    lane.offer(0, 10)
    expect(lane.delivery.status).toMatchObject({ room: 118, waiting: 10, outstanding: 0, end: 10, next: 0 })
    const sent = lane.sends()
    expect(lane.delivery.status).toMatchObject({ room: 118, waiting: 0, outstanding: 10, next: 10 })
    lane.taken(sent, 10)
    expect(lane.delivery.status).toMatchObject({ window: 64, room: 128, outstanding: 0, acknowledgedTo: 10 })
  })

  it('the pool bounds it, with one window ahead', () => {
    const lane = byHand(GETH, { poolStart: 20 })
    expect(lane.delivery.status).toMatchObject({ window: 64, pool: 20, most: 20, room: 84 })
    lane.offer(0, 30)
    expect(lane.delivery.status).toMatchObject({ most: 20, room: 54 })
  })

  it('the pool has room again for what sealed blocks used', () => {
    const lane = byHand(GETH, { poolStart: 20 })
    lane.offer(0, 10)
    lane.taken(lane.sends(), 10)
    lane.refresh(10, 10, true)
    expect(lane.delivery.status).toMatchObject({ most: 20, pool: 20, room: 84, end: 10 })
  })

  it('a limit of the account bounds it, and nothing is handed out ahead of that', () => {
    const lane = byHand({ ...GETH, accountMax: 4 })
    expect(lane.delivery.status).toMatchObject({ window: 64, most: 4, room: 4 })
    lane.offer(0, 3)
    expect(lane.delivery.status.room).toBe(1)
    lane.delivery.know({ accountMax: undefined })
    expect(lane.delivery.status).toMatchObject({ most: 64, room: 125 })
  })

  it('how many calls go in one request, and the largest window that was acknowledged', () => {
    const lane = byHand(GETH, { batchStart: 32, windowStart: 16 })
    expect(lane.delivery.status).toMatchObject({ batch: 32, windowProven: 0, window: 16 })
    lane.offer(0, 16)
    lane.taken(lane.sends(), 16)
    expect(lane.delivery.status).toMatchObject({ batch: 34, windowProven: 16, window: 32 })
  })

  it('the lowest nonce, where the endpoint lacks it or refuses it', () => {
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
  it('is neither refused nor stranded, and is not there for being sent elsewhere', () => {
    const { delivery } = byHand(GETH)
    delivery.sentElsewhere(0)
    expect([delivery.has(0), delivery.isRefused(0), delivery.isStranded(0)]).toEqual([false, false, false])
    expect(delivery.status).toMatchObject({ end: 0, waiting: 0 })
  })
})

describe('what is taken back from an endpoint', () => {
  it('is what it was not sent, or lacks', () => {
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
