import { describe, expect, it } from 'vitest'
import { type ByHand, byHand, GETH, range } from './byHand.fixture.js'
import type { EndpointTraits } from './state.js'

const SYNC: Partial<EndpointTraits> = { ...GETH, sendSync: true }

/** A delivery with nonces for whose receipts a caller waits. */
function lane(traits: Partial<EndpointTraits> = SYNC, count = 1): ByHand {
  const one = byHand(traits)
  one.offer(0, count)
  for (const nonce of range(0, 1_000)) one.awaited.add(nonce)
  return one
}

const sync = (nonce: number, request = 1) => ({
  do: 'send',
  kind: 'sync',
  nonces: [nonce],
  count: false,
  request,
})

describe('a sync send', () => {
  it('is the request of a single nonce whose receipt is awaited, without a count', () => {
    expect(lane().next()).toEqual(sync(0))
  })

  it.each<[string, Partial<EndpointTraits>]>([
    ['cannot answer with the receipt', { ...GETH, sendSync: false }],
    ['is not known to', GETH],
    ['keeps nothing above a gap', { ...SYNC, gapBudget: 0 }],
  ])('does not go to an endpoint that %s', (_, traits) => {
    expect(lane(traits).next()).toMatchObject({ kind: 'new', nonces: [0] })
  })

  it('needs a caller that waits', () => {
    const one = lane()
    one.awaited.clear()
    expect(one.next()).toMatchObject({ kind: 'new', count: true })
  })

  it('is no part of a burst', () => {
    expect(lane(SYNC, 2).next()).toMatchObject({ kind: 'new', nonces: [0, 1] })
  })

  it('waits until the endpoint has nothing else of the account', () => {
    const one = lane()
    one.taken(one.sends())
    one.offer(1, 2)
    expect(one.next()).toMatchObject({ kind: 'new', nonces: [1] })
  })

  it('is never a repair', () => {
    const one = lane()
    one.end(one.sends().request, { end: 'answers', answers: [{ kind: 'later' }] })
    one.at(200)
    expect(one.next()).toMatchObject({ kind: 'repair', nonces: [0] })
  })

  it('holds no later nonce back, up to the gap budget', () => {
    const one = lane({ ...SYNC, gapBudget: 4 })
    one.sends()
    for (const nonce of range(1, 5)) {
      one.offer(nonce, nonce + 1)
      expect(one.next()).toMatchObject({ kind: 'new', nonces: [nonce] })
    }
    one.offer(5, 6)
    expect(one.next()).toMatchObject({ do: 'wait' })
  })

  it('holds no nonce back once a count includes its own', () => {
    const one = lane({ ...SYNC, gapBudget: 4 })
    one.sends()
    one.offer(1, 60)
    const second = one.sends()
    expect(second.nonces).toEqual(range(1, 5))
    one.at(10)
    one.taken(second, 5)
    expect(one.sends().nonces).toEqual(range(5, 60))
  })

  it('takes no request from the others, while it is not known whether counts include the mempool', () => {
    const one = lane({ sendSync: true })
    expect(one.next()).toMatchObject({ kind: 'sync' })
    one.offer(1, 2)
    expect(one.next()).toMatchObject({ kind: 'new', nonces: [1], count: true })
  })

  it('says nothing about the time of a round trip', () => {
    const one = lane()
    const { request } = one.sends()
    one.at(12_000)
    one.taken({ request, nonces: [0] })
    one.at(12_001)
    one.refresh(1, 1, true)
    one.offer(1, 3)
    one.sends()
    // Without a measured round trip a count is due after a second, not after three blocks.
    expect(one.next()).toMatchObject({ do: 'wait', untilMs: 13_001 })
  })

  it('leaves the size of batches as it is if it has no answer', () => {
    const one = lane()
    const { batch } = one.delivery.status
    one.end(one.sends().request, { end: 'failed' })
    expect(one.delivery.status.batch).toBe(batch)
  })

  it('is a lost request like any other if it has no answer: a count decides', () => {
    const one = lane()
    one.end(one.sends().request, { end: 'failed' })
    expect(one.next()).toEqual({ do: 'count' })
    one.at(20)
    one.count(0)
    expect(one.next()).toMatchObject({ kind: 'repair', nonces: [0] })
  })
})
