import { describe, expect, it } from 'vitest'
import { type ByHand, byHand, GETH, SIZE } from './byHand.fixture.js'

/** Sends one request with all offered nonces, whose answer is lost. */
function loseAnswer(lane: ByHand): void {
  lane.end(lane.sends().request, { end: 'failed' })
}

describe('a count that covers a nonce whose answer was lost', () => {
  it('accepts the nonce in place of the answer, once, without another copy', () => {
    const lane = byHand(GETH)
    lane.offer(0, 3)
    loseAnswer(lane)
    lane.at(20)
    lane.count(2)
    expect(lane.sends().nonces).toEqual([2])
    expect(lane.accepted).toEqual([0, 1])
    lane.at(40)
    lane.count(2)
    lane.next()
    expect(lane.accepted).toEqual([0, 1])
  })

  it.each([true, undefined])(
    'does so if the count arrived before the answer was lost (includes the mempool: %s)',
    (countsMempool) => {
      const lane = byHand({ ...GETH, countsMempool })
      lane.offer(0, 1)
      const { request } = lane.sends()
      lane.at(10)
      lane.count(1)
      lane.next()
      expect(lane.accepted).toEqual([])
      lane.at(20)
      lane.end(request, { end: 'failed' })
      lane.next()
      expect(lane.accepted).toEqual([0])
    },
  )

  it('names the bytes that left, also if other bytes were offered since', () => {
    const { delivery, ...lane } = byHand(GETH)
    delivery.offer(0, SIZE, 'first')
    lane.end(lane.sends().request, { end: 'failed' })
    lane.at(20)
    lane.count(1)
    delivery.offer(0, SIZE, 'second')
    const action = delivery.next({ nowMs: 20, grant: () => 1, below: 1 })
    expect(action).toEqual({ do: 'accept', nonce: 0, bytes: 'first' })
  })

  it('does not accept changed bytes, which leave again: the earlier ones may be there', () => {
    const { delivery, ...lane } = byHand(GETH)
    delivery.offer(0, SIZE, 'first')
    lane.taken(lane.sends(), 1)
    delivery.offer(0, SIZE, 'second')
    lane.end(lane.sends().request, { end: 'failed' })
    lane.at(20)
    lane.count(1)
    expect(lane.sends().nonces).toEqual([0])
    expect(lane.accepted).toEqual([])
  })

  it('says nothing about a nonce that a body covers: the body shows the transaction', () => {
    const lane = byHand(GETH)
    lane.offer(0, 1)
    loseAnswer(lane)
    lane.at(20)
    lane.refresh(1, 1, true)
    lane.next()
    expect(lane.accepted).toEqual([])
  })

  it('says nothing about a nonce that was answered', () => {
    const lane = byHand(GETH)
    lane.offer(0, 2)
    lane.taken(lane.sends(), 2)
    lane.next()
    expect(lane.accepted).toEqual([])
  })
})
