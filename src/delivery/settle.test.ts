import { describe, expect, it } from 'vitest'
import { type ByHand, byHand, GETH, range, SEQUENCER, SIZE, standAt } from './byHand.fixture.js'
import type { SendAnswer } from './settle.js'

const TAKEN: SendAnswer = { kind: 'taken' }

/** The first request hangs, and its nonce is sent again. */
function sentTwice(lane: ByHand) {
  lane.offer(0, 1)
  const first = lane.sends()
  for (const ms of [200, 400]) {
    lane.at(ms)
    lane.refresh(0)
  }
  return { first, second: lane.sends() }
}

/** Three requests bring no result, then the next one may leave. */
function failThrice(lane: ByHand): void {
  for (const ms of [0, 0, 100]) {
    lane.at(ms)
    lane.end(lane.sends().request, { end: 'failed' })
  }
  lane.at(300)
}

describe('answers', () => {
  it('end the pauses after failures', () => {
    const lane = byHand(SEQUENCER)
    lane.offer(0, 1)
    failThrice(lane)
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

  it('with the highest acceptable nonce bound the nonces sent to the endpoint', () => {
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

  it('that refuse other bytes leave the nonce as taken', () => {
    const lane = byHand(SEQUENCER)
    lane.offer(0, 2)
    lane.taken(lane.sends())
    lane.delivery.offer(0, SIZE)
    lane.end(lane.sends().request, { end: 'answers', answers: [{ kind: 'refused' }] })
    lane.offer(2, 3)
    expect(lane.sends().nonces).toEqual([2])
  })

  it('with one missing leave its nonce to the count, or cause a resend', () => {
    const lane = byHand(GETH)
    lane.offer(0, 3)
    lane.end(lane.sends().request, { end: 'answers', answers: [TAKEN, TAKEN] })
    expect(lane.next().do).toBe('count')
    const other = byHand(SEQUENCER)
    other.offer(0, 3)
    other.end(other.sends().request, { end: 'answers', answers: [TAKEN, TAKEN] })
    expect(other.sends().nonces).toEqual([2])
  })

  it('gapped by an overtaken request cause a resend after that, and prove no loss', () => {
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

  it('of an endpoint that lags behind its accepted nonces cause a retry after a pause', () => {
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

  it('to an older copy of the same bytes count as well', () => {
    const lane = byHand(SEQUENCER)
    const { first, second } = sentTwice(lane)
    lane.taken(first)
    lane.end(second.request, { end: 'failed' })
    expect(lane.next()).toMatchObject({ do: 'wait' })
    expect(lane.delivery.status).toMatchObject({ outstanding: 1, missing: undefined })
  })

  it('to bytes that were replaced in between do not concern the new ones', () => {
    const lane = byHand(SEQUENCER)
    lane.delivery.offer(0, SIZE, 'a')
    const first = lane.sends()
    lane.delivery.offer(0, SIZE, 'b')
    const second = lane.sends()
    lane.taken(first)
    lane.end(second.request, { end: 'failed' })
    expect(lane.sends().nonces).toEqual([0])
  })

  it('to the newest copy count even if it was found missing before they came', () => {
    const lane = byHand(GETH)
    lane.offer(0, 2)
    const first = lane.sends()
    lane.at(5_000)
    lane.count(0)
    expect(lane.delivery.status.missing).toBe(0)
    lane.taken(first)
    expect(lane.delivery.status).toMatchObject({ outstanding: 2, missing: undefined })
  })

  it.each([TAKEN, { kind: 'refused' } as const])(
    'to bytes that were replaced do not concern the new ones before these leave either: %o',
    (answer) => {
      const lane = byHand(SEQUENCER)
      lane.delivery.offer(0, SIZE, 'a')
      const { request } = lane.sends()
      lane.delivery.offer(0, SIZE, 'b')
      lane.end(request, { end: 'answers', answers: [answer] })
      expect(lane.delivery.isRefused(0)).toBe(false)
      expect(lane.sends().nonces).toEqual([0])
    },
  )

  it('that accept an older copy do not undo a refusal of the newest', () => {
    const lane = byHand(SEQUENCER)
    const { first, second } = sentTwice(lane)
    lane.end(second.request, { end: 'answers', answers: [{ kind: 'refused' }] })
    lane.taken(first)
    expect(lane.delivery.isRefused(0)).toBe(true)
    expect(lane.delivery.status.outstanding).toBe(0)
  })

  it('that refuse an older copy do not concern the newest', () => {
    const lane = byHand(SEQUENCER)
    const { first, second } = sentTwice(lane)
    lane.end(first.request, { end: 'answers', answers: [{ kind: 'refused' }] })
    expect(lane.delivery.isRefused(0)).toBe(false)
    lane.taken(second)
    expect(lane.delivery.status).toMatchObject({ outstanding: 1, missing: undefined })
  })

  it('that come twice, or for a nonce that is not offered any more, change nothing', () => {
    const lane = byHand(SEQUENCER)
    lane.offer(0, 2)
    const { request } = lane.sends()
    lane.delivery.withdraw(1)
    lane.end(request, { end: 'answers', answers: [TAKEN, TAKEN] })
    lane.end(request, { end: 'failed' })
    expect(lane.delivery.has(1)).toBe(false)
    expect(lane.delivery.status).toMatchObject({ outstanding: 1, waiting: 0 })
    expect(lane.next()).toEqual({ do: 'wait', untilMs: 15_000 })
  })

  it('that put a nonce off cause a pause; a rate limit leaves the pause to the request budget', () => {
    const later = byHand(SEQUENCER)
    later.offer(0, 1)
    later.end(later.sends().request, { end: 'answers', answers: [{ kind: 'later' }] })
    expect(later.next()).toEqual({ do: 'wait', untilMs: 100 })
    later.at(100)
    later.end(later.sends().request, { end: 'answers', answers: [{ kind: 'later' }] })
    expect(later.next()).toEqual({ do: 'wait', untilMs: 300 })

    const limited = byHand(SEQUENCER)
    limited.offer(0, 1)
    limited.end(limited.sends().request, { end: 'answers', answers: [{ kind: 'limited' }] })
    expect(limited.sends().nonces).toEqual([0])
  })

  it('that report other bytes at the nonce end the pauses, too', () => {
    const lane = byHand(SEQUENCER)
    lane.offer(0, 1)
    failThrice(lane)
    lane.end(lane.sends().request, { end: 'answers', answers: [{ kind: 'occupied' }] })
    expect(lane.delivery.isRefused(0)).toBe(true)
    lane.offer(1, 2)
    lane.end(lane.sends().request, { end: 'failed' })
    expect(lane.sends().nonces).toEqual([1])
  })

  it('that refuse a nonce that came back from another endpoint do not mean other bytes, once a count lacks it', () => {
    const lane = byHand(GETH)
    lane.offer(0, 2)
    lane.taken(lane.sends())
    lane.delivery.withdraw(0)
    lane.offer(0, 1)
    lane.end(lane.sends().request, { end: 'answers', answers: [{ kind: 'refused' }] })
    standAt(lane, 0, 100)
    const { request, nonces } = lane.sends()
    expect(nonces).toEqual([0])
    lane.end(request, { end: 'answers', answers: [{ kind: 'refused' }] })
    for (let ms = 300; ms < 3_000; ms += 100) {
      lane.at(ms)
      lane.refresh(0, 0, true)
      lane.count(0)
      expect(lane.next()).not.toMatchObject({ do: 'send' })
    }
    expect(lane.delivery.isRefused(0)).toBe(true)
  })

  it('that put everything off cause single offers, until the endpoint accepts one', () => {
    const LATER: SendAnswer = { kind: 'later' }
    const lane = byHand(GETH)
    lane.offer(0, 40)
    const first = lane.sends()
    expect(first.nonces).toHaveLength(40)
    lane.end(first.request, { end: 'answers', answers: first.nonces.map(() => LATER) })
    for (const block of [1, 2, 3]) {
      lane.at(block * 2_000)
      lane.refresh(0, 0, true)
      const probe = lane.sends()
      expect(probe.nonces).toEqual([0])
      lane.end(probe.request, { end: 'answers', answers: [block === 3 ? TAKEN : LATER] })
    }
    expect(lane.sends().nonces).toEqual(range(1, 40))
  })

  it('that put a part off do not: the next request holds all remaining nonces', () => {
    const lane = byHand(GETH)
    lane.offer(0, 10)
    const { request, nonces } = lane.sends()
    const answers = nonces.map((nonce): SendAnswer => (nonce < 3 ? TAKEN : { kind: 'later' }))
    lane.end(request, { end: 'answers', answers })
    lane.at(1_000)
    expect(lane.sends().nonces).toEqual(range(3, 10))
  })

  it('that omit one nonce do not end the pauses, and measure neither size nor round trip', () => {
    const lane = byHand(SEQUENCER, { batchStart: 4 })
    lane.offer(0, 4)
    const { request } = lane.sends()
    lane.at(50)
    lane.end(request, { end: 'answers', answers: [TAKEN, TAKEN, TAKEN] })
    expect(lane.sends().nonces).toEqual([3])
    const { batch } = lane.delivery.status
    const whole = byHand(SEQUENCER, { batchStart: 4 })
    whole.offer(0, 4)
    whole.taken(whole.sends())
    expect(whole.delivery.status.batch).toBeGreaterThan(batch)
  })

  it('of a full pool bound it by the number that it holds above the account’s own count', () => {
    const lane = byHand(SEQUENCER, { floor: 10 })
    lane.refresh(10, 10, true)
    lane.offer(10, 14)
    const full = { kind: 'full' } as const
    lane.end(lane.sends().request, { end: 'answers', answers: [TAKEN, TAKEN, TAKEN, full] })
    expect(lane.delivery.status.pool).toBe(3)
  })

  it('that lack a nonce accepted before the request left prove its loss, and no other', () => {
    const gapped = { kind: 'gapped', expected: 0, nonceMax: undefined } as const
    const lane = byHand({ countsMempool: false, gapBudget: 4 })
    lane.offer(0, 1)
    const first = lane.sends()
    lane.at(50)
    lane.taken(first)
    lane.offer(1, 2)
    lane.end(lane.sends().request, { end: 'answers', answers: [gapped] })
    expect(lane.sends().nonces).toEqual([0, 1])
    expect(lane.delivery.status.window).toBe(32)

    const open = byHand({ countsMempool: false, gapBudget: 4 })
    open.offer(0, 1)
    const slow = open.sends()
    open.offer(1, 2)
    const fast = open.sends()
    open.at(50)
    open.taken(slow)
    open.end(fast.request, { end: 'answers', answers: [gapped] })
    expect(open.next()).toEqual({ do: 'wait', untilMs: 150 })
    open.at(150)
    expect(open.sends().nonces).toEqual([1])
    expect(open.delivery.status.window).toBe(64)
  })

  it('that lack a nonce of an unanswered request cause its resend', () => {
    const lane = byHand({ countsMempool: true, gapBudget: 4 })
    lane.offer(0, 1)
    const first = lane.sends()
    lane.offer(1, 2)
    const second = lane.sends()
    lane.end(first.request, { end: 'failed' })
    lane.end(second.request, {
      end: 'answers',
      answers: [{ kind: 'gapped', expected: 0, nonceMax: undefined }],
    })
    expect(lane.sends().nonces).toEqual([0, 1])
  })

  it('that expect the nonce itself, or one above, cause a resend after a pause', () => {
    for (const expected of [0, 5]) {
      const lane = byHand(SEQUENCER)
      lane.offer(0, 1)
      const answer: SendAnswer = { kind: 'gapped', expected, nonceMax: undefined }
      lane.end(lane.sends().request, { end: 'answers', answers: [answer] })
      expect(lane.next()).toEqual({ do: 'wait', untilMs: 100 })
    }
  })

  it('that refuse a batch for its size cause half of it to be sent at once', () => {
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

describe('a request without an answer', () => {
  it.each([
    ['is no reason for a pause if blocks contain its nonces by then', 1, [20]],
    ['is a reason for a pause if no block contains its nonces', 0, []],
  ])('%s', (_, confirmed, expected) => {
    const lane = byHand(SEQUENCER)
    // Each is under way for a second, and there are many.
    for (let nonce = 0; nonce < 20; nonce++) {
      lane.at(nonce * 1_000)
      lane.offer(nonce, nonce + 1)
      const { request } = lane.sends()
      lane.refresh(nonce + confirmed)
      lane.end(request, { end: 'failed' })
      if (confirmed === 0) break
    }
    lane.offer(20, 21)
    // The first failure is followed by an immediate retry.
    if (confirmed === 0) lane.end(lane.sends().request, { end: 'failed' })
    const action = lane.next()
    expect(action.do === 'send' ? action.nonces : []).toEqual(expected)
  })
})

describe('the known traits of an endpoint', () => {
  it('cause a resend of uncounted nonces, once counts are known to exclude the pool', () => {
    const lane = byHand(GETH)
    lane.offer(0, 2)
    lane.end(lane.sends().request, { end: 'failed' })
    lane.delivery.know({ countsMempool: false })
    expect(lane.sends().nonces).toEqual([0, 1])
  })

  it('limit the first requests, one at a time, while counts may still show whether they include the pool', () => {
    const lane = byHand({})
    lane.offer(0, 100)
    const action = lane.next()
    expect(action).toMatchObject({ do: 'send', nonces: range(0, 16), count: true })
    expect(lane.next().do).toBe('wait')
  })
})
