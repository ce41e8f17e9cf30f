import { describe, expect, test } from 'vitest'
import { isCount } from '../../../test/support/scriptedChain.js'
import { usedSlot } from '../../ledger/samples.fixture.js'
import type { RpcReply } from '../../rpc/port.js'
import { createNonceRegression } from './nonceRegression.js'
import { foreign, mine, type ScriptedLane, scriptedLane } from './scriptedLane.fixture.js'

/** The account stands at 3, and the lane believes that it stands at `floor`. */
function believed(floor: number, endpoints = 1): ScriptedLane {
  return scriptedLane({
    history: [[], [foreign(0), foreign(1), foreign(2)], ...Array.from({ length: 20 }, () => [])],
    floor,
    endpoints,
  })
}

const requests = (lane: ScriptedLane) => lane.endpoints.reduce((sum, { batches }) => sum + batches.length, 0)

/** Reads a lower count at two blocks, two seconds apart. */
async function fallen(lane: ScriptedLane) {
  const regression = createNonceRegression(lane.context)
  regression.count(3, lane.head - 1)
  await lane.clock.advance(2_000)
  regression.count(3, lane.head)
  await lane.clock.advance(0)
  return regression
}

describe('a count below the believed one', () => {
  test('has no effect after one reading, because lagging replicas show that all the time', async () => {
    const lane = believed(5)
    const regression = createNonceRegression(lane.context)
    regression.count(3, 20)
    expect(regression.wanted).toBe(true)
    regression.count(3, 20)
    await lane.clock.advance(2_999)
    regression.count(3, 20)
    await lane.clock.advance(0)
    expect([requests(lane), lane.book.floor]).toEqual([0, 5])
  })

  test.each([200, 2_000, 12_000])('has to stand for 2 s and a block, on blocks of %i ms', async (blockMs) => {
    const lane = believed(5)
    const regression = createNonceRegression(lane.context)
    const first = lane.head
    const fromMs = lane.clock.now()
    for (let block = 0; lane.book.floor === 5; block++) {
      regression.count(3, first - 20 + block)
      await lane.clock.advance(0)
      if (lane.book.floor === 5) await lane.clock.advance(blockMs)
    }
    expect(lane.clock.now() - fromMs).toBe(Math.max(2_000, blockMs))
  })

  test('is believed at a second block after a read by the walked hash, and frees the nonces', async () => {
    const lane = believed(5)
    const regression = await fallen(lane)
    expect([lane.book.floor, lane.book.base]).toEqual([3, 3])
    expect(regression.wanted).toBe(false)
    expect(lane.doubts).toEqual([])
  })

  test('is believed after 3 s at the same block, on a chain without new blocks', async () => {
    const lane = believed(5)
    const regression = createNonceRegression(lane.context)
    regression.count(3, lane.head)
    await lane.clock.advance(3_000)
    regression.count(3, lane.head)
    await lane.clock.advance(0)
    expect(lane.book.floor).toBe(3)
  })

  test('starts over if the higher count was read in between', async () => {
    const lane = believed(5)
    const regression = createNonceRegression(lane.context)
    regression.count(3, lane.head - 1)
    await lane.clock.advance(2_000)
    regression.count(5, lane.head - 1)
    regression.count(3, lane.head)
    await lane.clock.advance(0)
    expect([requests(lane), lane.book.floor]).toEqual([0, 5])
  })

  test('has no effect if the endpoint has another block than the walk by then', async () => {
    for (const moves of ['before', 'while'] as const) {
      const lane = believed(5)
      const away = () => void lane.walked.set(lane.head, foreign(99))
      if (moves === 'before') away()
      const [only] = lane.endpoints
      if (only && moves === 'while')
        only.script = (call) => {
          const reply = lane.chain.answer(call)
          queueMicrotask(away)
          return reply
        }
      await fallen(lane)
      expect(lane.book.floor, moves).toBe(5)
    }
  })

  test('is refuted by walked blocks with a higher nonce, and the endpoint is doubted with both numbers', async () => {
    const lane = believed(3)
    // The order of these blocks is arbitrary.
    lane.journal(4, 'b', mine(4))
    lane.journal(3, 'a', mine(3))
    for (const nonce of [4, 3])
      lane.book.apply(nonce, {
        type: 'sealed',
        hash: mine(nonce),
        block: { number: 9, hash: lane.chain.blockHash(9) },
      })
    expect(lane.book.base).toBe(5)
    await fallen(lane)
    expect(lane.book.floor).toBe(5)
    expect(lane.doubts).toEqual([
      'the endpoint counts 3 used nonces, and its own blocks hold a transaction with nonce 4',
    ])
  })

  test('is not refuted by a block that is no longer on the walked chain', async () => {
    const lane = believed(3)
    lane.journal(3, 'a', mine(3))
    const block = { number: 9, hash: foreign(77) }
    lane.book.apply(3, { type: 'sealed', hash: mine(3), block })
    await fallen(lane)
    expect(lane.doubts).toEqual([])
  })

  test('is not believed if another endpoint counts more, and the lane switches its reader', async () => {
    const lane = believed(5, 2)
    const [, other] = lane.endpoints
    if (other)
      other.script = (call) => (isCount(call) ? ({ ok: true, result: '0x4' } as RpcReply) : undefined)
    await fallen(lane)
    expect(lane.book.floor).toBe(5)
    expect(lane.doubts).toEqual(['the endpoint counts 3 used nonces, and another endpoint counts more'])
  })

  test('is believed down to the nonces that blocks show, and to the final ones', async () => {
    for (const isFinal of [false, true]) {
      const lane = believed(2)
      lane.journal(2, 'a', mine(2))
      const block = { number: 1, hash: lane.chain.blockHash(1) }
      lane.book.apply(2, { type: 'sealed', hash: mine(2), block })
      if (isFinal) for (const type of ['lossDepth', 'horizon'] as const) lane.book.apply(2, { type })
      lane.book.raise(5)
      await fallen(lane)
      expect([lane.book.floor, lane.book.finalTo]).toEqual([3, isFinal ? 3 : 0])
      expect([lane.doubts, lane.holds.size]).toEqual([[], 0])
    }
  })

  test('is read once at a time, together with the chain id, and wakes the poller after the nonces are freed', async () => {
    const lane = believed(5)
    const regression = createNonceRegression(lane.context)
    for (const head of [20, 21, 21]) {
      regression.count(3, head)
      if (head === 20) await lane.clock.advance(2_000)
    }
    await lane.clock.advance(0)
    expect([requests(lane), lane.book.floor, lane.woken]).toEqual([1, 3, 1])
    const elsewhere = believed(5)
    const [only] = elsewhere.endpoints
    if (only)
      only.script = ({ method }) => (method === 'eth_chainId' ? { ok: true, result: '0x2' } : undefined)
    await fallen(elsewhere)
    expect(elsewhere.book.floor).toBe(5)
  })

  test('has no effect once the lane is closed', async () => {
    const lane = believed(5)
    const regression = createNonceRegression(lane.context)
    for (const head of [20, 21]) regression.count(3, head)
    Object.assign(lane.context, { closed: true })
    await lane.clock.advance(0)
    expect(lane.book.floor).toBe(5)
  })

  test('is believed if the other endpoints count the same, or less', async () => {
    for (const count of ['0x3', '0x2']) {
      const lane = believed(5, 2)
      const [, other] = lane.endpoints
      if (other)
        other.script = (call) => (isCount(call) ? ({ ok: true, result: count } as RpcReply) : undefined)
      await fallen(lane)
      expect([lane.book.floor, lane.doubts]).toEqual([3, []])
    }
  })

  test('row 27: frees bound nonces that were only believed to be used', async () => {
    const lane = believed(3)
    lane.journal(3, 'a', mine(3))
    lane.book.apply(3, { type: 'passed' })
    expect(lane.book.get(3)).toMatchObject({ state: 'used', by: { kind: 'unproven' } })
    await fallen(lane)
    expect(lane.applied).toEqual(['3 refuted'])
    expect(lane.book.get(3)).toMatchObject({ state: 'live', claims: ['a'] })
  })

  test('row 27: frees only the uncovered ones of several nonces, even above one that was never believed to be used', async () => {
    const lane = believed(2)
    // As read from a store, nonce 3 is still open.
    lane.journal(3, 'b', mine(3))
    for (const nonce of [2, 4]) lane.book.restore(usedSlot({ kind: 'unproven' }, { nonce, at: undefined }))
    expect([...lane.book.unproven]).toEqual([2, 4])
    await fallen(lane)
    expect(lane.applied).toEqual(['4 refuted'])
  })

  test('row 27: refutes nothing if it equals the highest of the nonces', async () => {
    const lane = believed(2)
    lane.journal(2, 'a', mine(2))
    lane.book.apply(2, { type: 'passed' })
    await fallen(lane)
    expect(lane.applied).toEqual([])
    expect(requests(lane)).toBe(0)
  })
})

describe('more empty nonces below signed transactions than are filled automatically', () => {
  async function gap(floor: number) {
    const lane = believed(floor)
    lane.journal(floor, 'a', mine(0))
    return { lane, regression: await fallen(lane) }
  }

  test('frees 64 nonces, and holds the lane with the numbers for 65', async () => {
    expect((await gap(3 + 64)).lane.book.floor).toBe(3)
    const { lane } = await gap(3 + 65)
    expect(lane.book.floor).toBe(68)
    expect(lane.holds.get('jump')).toMatch(/stands at nonce 3.*from nonce 68 on/)
  })

  test('lifts the hold when the count recovers, and a later resume() frees nothing', async () => {
    const { lane, regression } = await gap(68)
    regression.count(68, lane.head)
    expect([...lane.holds.keys()]).toEqual([])
    regression.accept()
    expect(lane.book.floor).toBe(68)
  })

  test('resume() frees them', async () => {
    const { lane, regression } = await gap(68)
    regression.accept()
    // A later lower count is judged separately.
    lane.book.raise(68)
    regression.accept()
    expect(lane.book.base).toBe(68)
    lane.book.lower(3)
    expect(lane.book.floor).toBe(3)
    expect(lane.book.get(68)).toMatchObject({ state: 'live' })
  })

  test('frees them if nothing is bound above, because there is nothing to fill', async () => {
    const lane = believed(100)
    await fallen(lane)
    expect([lane.book.floor, [...lane.holds.keys()]]).toEqual([3, []])
  })
})

/** Nonce 3 has become final. */
function finalOnce(): ReturnType<typeof believed> {
  const lane = believed(3)
  lane.journal(3, 'a', mine(3))
  const block = { number: 9, hash: foreign(77) }
  lane.book.apply(3, { type: 'sealed', hash: mine(3), block })
  lane.book.apply(3, { type: 'lossDepth' })
  lane.book.apply(3, { type: 'horizon' })
  return lane
}

test('below a final nonce: holds the lane, because the node was reset, until an operator accepts its count', async () => {
  const lane = finalOnce()
  expect(lane.book.finalTo).toBe(4)
  const regression = await fallen(lane)
  expect(lane.holds.get('deepReorg')).toMatch(/counts 3 used nonces.*seen 4 become final/)
  expect(lane.emitted).toEqual([{ event: 'deepReorg', payload: { nonce: 3 } }])
  expect(lane.book.floor).toBe(4)
  regression.accept()
  expect(lane.book.floor).toBe(3)
})

test('below a final nonce and back: lifts the hold that was set for the count alone', async () => {
  const lane = finalOnce()
  const regression = await fallen(lane)
  expect([...lane.holds.keys()]).toEqual(['deepReorg'])
  regression.count(4, lane.head)
  expect([...lane.holds.keys()]).toEqual([])
})

test('below a final nonce after a settled block left: the hold does not lift with the count', async () => {
  const lane = finalOnce()
  lane.holds.set('deepReorg', 'a settled block left the chain')
  const regression = await fallen(lane)
  regression.count(4, lane.head)
  expect([...lane.holds.keys()]).toEqual(['deepReorg'])
})
