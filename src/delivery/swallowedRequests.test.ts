import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../tools/devnet/faults/seeded.js'
import { byHand, GETH, range } from './byHand.fixture.js'
import { createGethPool } from './gethPool.fixture.js'
import type { SendAnswer } from './settle.js'

const BLOCK_MS = 1_000
const TRIP_MS = 10
const BLOCKS_MAX = 200
const ACCOUNT = 'account'

/**
 * Sends nonces through a balancer with several nodes behind it, of which one is cut off from the others: it
 * takes whole requests and returns their hashes, and no other node ever sees these transactions. Returns the
 * blocks until all are sealed, and the number of copies.
 */
function land(nonces: number, { share, seed }: { share: number; seed: number }) {
  const random = seededRandom(seed)
  const pool = createGethPool()
  const lane = byHand(GETH)
  const replies: { atMs: number; run: () => void }[] = []
  let copies = 0
  let block = 0

  function act(nowMs: number): void {
    for (let action = lane.next(); action.do !== 'wait'; action = lane.next()) {
      const atMs = nowMs + TRIP_MS
      if (action.do === 'count') {
        replies.push({ atMs, run: () => lane.count(pool.count(ACCOUNT), nowMs) })
        continue
      }
      const request = action
      copies += request.nonces.length
      const isSwallowed = random() < share
      const answers = request.nonces.map((nonce): SendAnswer => {
        const isKnown = !isSwallowed && pool.add(ACCOUNT, nonce) === 'known'
        return isKnown ? { kind: 'taken', isKnown } : { kind: 'taken' }
      })
      pool.reorganise()
      const count = request.count ? pool.count(ACCOUNT) : undefined
      replies.push({ atMs, run: () => lane.end(request.request, { end: 'answers', answers, count }) })
    }
  }

  lane.offer(0, nonces)
  for (let nowMs = 0; block < BLOCKS_MAX; nowMs += TRIP_MS) {
    lane.at(nowMs)
    for (const reply of replies.filter(({ atMs }) => atMs <= nowMs)) {
      replies.splice(replies.indexOf(reply), 1)
      reply.run()
    }
    if (nowMs > 0 && nowMs % BLOCK_MS === 0) {
      block++
      const latest = pool.count(ACCOUNT)
      pool.advance(ACCOUNT, latest)
      lane.refresh(latest, latest, true)
      if (latest >= nonces) break
    }
    act(nowMs)
  }
  return { block, copies }
}

const SEEDS = range(1, 201)
const NONCES = 300

describe('an endpoint that takes whole requests and pools none of their transactions', () => {
  it.each([0.05, 0.2, 0.3])('does not look like one with a small pool: %d of the requests', (share) => {
    const all = SEEDS.map((seed) => land(NONCES, { share, seed }))
    const worst = (value: (one: ReturnType<typeof land>) => number) => Math.max(...all.map(value))
    expect(worst(({ block }) => block)).toBeLessThanOrEqual(30)
    expect(worst(({ copies }) => copies)).toBeLessThan(10 * NONCES)
    const copies = all.reduce((sum, one) => sum + one.copies, 0) / all.length
    expect(copies).toBeLessThan(2 * NONCES)
  })
})
