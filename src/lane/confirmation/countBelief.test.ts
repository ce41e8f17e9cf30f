import { expect, test } from 'vitest'
import { createVirtualClock } from '../../../test/sim/virtualClock.js'
import type { RpcReply } from '../../rpc/port.js'
import { ADDRESS } from './scriptedLane.fixture.js'
import { createCountBelief } from './usedCount.js'

function beliefWith(...others: readonly (RpcReply | undefined)[]) {
  const clock = createVirtualClock()
  const endpointPool = { others: () => others.map((reply) => ({ port: { batch: async () => [reply] } })) }
  const parts = { clock, endpointPool, address: ADDRESS, timeoutMs: 1_000 } as const
  return { clock, belief: createCountBelief(parts as unknown as Parameters<typeof createCountBelief>[0]) }
}

const counts = (count: number): RpcReply => ({ ok: true, result: `0x${count.toString(16)}` })
const REFUSES: RpcReply = { ok: false, failure: { kind: 'http', status: 503, message: 'unavailable' } }

test('believes neither one reading nor a second one at the same block right after it', async () => {
  const { clock, belief } = beliefWith()
  expect(belief.confirms(5, 10)).toBe(false)
  expect(belief.confirms(5, 10)).toBe(false)
  await clock.advance(2_999)
  expect(belief.confirms(5, 10)).toBe(false)
})

test('believes the same count at a later block, or after 3 s on a chain without new blocks', async () => {
  const { clock, belief } = beliefWith()
  belief.confirms(5, 10)
  expect(belief.confirms(5, 11)).toBe(true)
  belief.forget()
  expect(belief.confirms(5, 12)).toBe(false)
  await clock.advance(3_000)
  expect(belief.confirms(5, 12)).toBe(true)
})

test('does not confirm a count at an older block, after the endpoint switched to another backend', () => {
  const { belief } = beliefWith()
  belief.confirms(5, 10)
  expect(belief.confirms(5, 9)).toBe(false)
})

test('starts over with a different count, higher or lower', () => {
  for (const other of [4, 6]) {
    const { belief } = beliefWith()
    belief.confirms(5, 10)
    expect(belief.confirms(other, 11)).toBe(false)
    expect(belief.confirms(5, 12)).toBe(false)
    expect(belief.confirms(5, 13)).toBe(true)
  }
})

test('is contradicted by a lower count of another endpoint, but not by an endpoint that does not answer', async () => {
  const cases: [readonly (RpcReply | undefined)[], boolean][] = [
    [[counts(5)], true],
    [[counts(6)], true],
    [[counts(4)], false],
    [[counts(5), counts(4)], false],
    [[REFUSES], true],
    [[undefined, counts(5)], true],
  ]
  for (const [others, believed] of cases) {
    const { belief } = beliefWith(...others)
    expect((await belief.lowerElsewhere(5)) === undefined, JSON.stringify(others)).toBe(believed)
  }
})

test('returns the lowest of several lower counts', async () => {
  const { belief } = beliefWith(counts(4), counts(2), counts(3), counts(9))
  expect(await belief.lowerElsewhere(5)).toBe(2)
  expect(await belief.lowerElsewhere(2)).toBeUndefined()
})
