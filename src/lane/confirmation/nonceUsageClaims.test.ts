import { describe, expect, test } from 'vitest'
import { isBody, isCount } from '../../../test/support/scriptedChain.js'
import type { RpcCall } from '../../rpc/port.js'
import { blocks, claims, noBodies, REFUSED, scriptAll, tick, usageOn } from './nonceUsage.fixture.js'
import { foreign, mine, type ScriptedLane, scriptedLane } from './scriptedLane.fixture.js'

const batches = (lane: ScriptedLane) => lane.endpoints.reduce((sum, one) => sum + one.batches.length, 0)
const bodies = (lane: ScriptedLane) =>
  lane.endpoints.flatMap((one) => one.batches.flat()).filter(isBody).length

describe('row 26: no endpoint shows the use of a nonce that is bound to this lane', () => {
  function pruned(options: { lossDepth: number; patienceMs?: number }): ScriptedLane {
    const lane = scriptedLane({ history: blocks(30, { 19: [foreign(0)] }), ...options })
    lane.journal(0, 'a', mine(0))
    scriptAll(lane, noBodies)
    return lane
  }

  test('passes the nonce if the count at a deep enough block is above it, not if it equals it', async () => {
    const lane = pruned({ lossDepth: 3, patienceMs: 1_000 })
    const usage = usageOn(lane)
    // Block 18 is deep enough, and the count there is 0.
    lane.head = 21
    await tick(lane, usage, 1, 30_000)
    expect(lane.applied).toEqual([])
    lane.head = 22
    await tick(lane, usage, 1, 15_000)
    expect(lane.applied).toEqual(['0 passed'])
  })

  /** No bodies, and the state of the newest `kept` blocks only. */
  const keeps = (lane: ScriptedLane, kept: number) => (call: RpcCall) => {
    const [, at] = call.params
    const isOld = isCount(call) && typeof at === 'string' && Number(at) <= lane.head - kept
    return isOld ? REFUSED : noBodies(call)
  }

  test('passes the nonce without state at that depth, once the block in which the count was read is deep enough', async () => {
    const lane = pruned({ lossDepth: 6, patienceMs: 1_000 })
    scriptAll(lane, keeps(lane, 3))
    const usage = usageOn(lane)
    lane.head = 20
    await tick(lane, usage, 1, 12_000)
    lane.head = 25
    await tick(lane, usage, 1, 12_000)
    expect(lane.applied).toEqual([])
    lane.head = 26
    await tick(lane, usage, 1, 12_000)
    expect(lane.applied).toEqual(['0 passed'])
  })

  test('does not pass it if the block in which the count was read left', async () => {
    const lane = pruned({ lossDepth: 6, patienceMs: 1_000 })
    scriptAll(lane, keeps(lane, 3))
    const usage = usageOn(lane)
    lane.head = 20
    await tick(lane, usage, 1, 12_000)
    usage.left({ number: 20, hash: lane.chain.blockHash(20) })
    lane.head = 26
    await tick(lane, usage, 1, 12_000)
    expect(lane.applied).toEqual([])
  })

  test('waits for the end of the patience', async () => {
    const lane = pruned({ lossDepth: 3, patienceMs: 20_000 })
    const usage = usageOn(lane)
    lane.head = 22
    await tick(lane, usage, 1, 19_000)
    expect(lane.applied).toEqual([])
    expect(usage.unexplained).toMatch(/^the body of block \d+ is refused$/)
    await tick(lane, usage, 1, 15_000)
    expect(lane.applied).toEqual(['0 passed'])
  })

  test('does not pass it if another endpoint, asked in its turn, shows the use', async () => {
    const lane = scriptedLane({ history: blocks(20, { 19: [foreign(0)] }), endpoints: 2 })
    lane.journal(0, 'a', mine(0))
    const [reader] = lane.endpoints
    if (reader) reader.script = noBodies
    await tick(lane, usageOn(lane), 1, 3_000)
    expect(lane.applied).toEqual(['0 evidence'])
  })
})

describe('an unexplained count, with nothing bound to this lane', () => {
  test('is believed at the second reading, at another block', async () => {
    const lane = scriptedLane({ history: blocks(20) })
    scriptAll(lane, claims(5))
    const usage = usageOn(lane)
    lane.head = 18
    await tick(lane, usage, 5, 1_000)
    expect(lane.book.floor).toBe(0)
    lane.head = 19
    await tick(lane, usage, 5, 1_000)
    expect(lane.book.floor).toBe(5)
  })

  test('is not believed while another endpoint counts less', async () => {
    const lane = scriptedLane({ history: blocks(60), endpoints: 2 })
    const [reader] = lane.endpoints
    if (reader) reader.script = claims(5)
    lane.head = 20
    await tick(lane, usageOn(lane), 5, 60_000, 2_000)
    expect(lane.book.floor).toBe(0)
  })
})

describe('a count that is too high for a minute', () => {
  test('is refuted by bodies, the endpoint is doubted with both numbers, and nothing moves', async () => {
    const lane = scriptedLane({ history: blocks(60, { 15: [mine(0), mine(1)] }), floor: 2 })
    lane.journal(2, 'a', mine(2))
    scriptAll(lane, claims(7))
    const usage = usageOn(lane)
    usage.count(2, 14)
    lane.head = 18
    await tick(lane, usage, 7, 2_000, 2_000)
    expect(lane.doubts[0]).toBe('the endpoint counts 7 used nonces, and the bodies of its blocks show 2')
    expect(usage.latest).toBe(2)
    expect(usage.unexplained).toBe(lane.doubts[0])
    expect([lane.applied, lane.book.floor]).toEqual([[], 2])
    // The endpoint is correct again, and no search is open.
    usage.count(2, lane.head)
    expect([usage.wanted, usage.unexplained]).toEqual([false, undefined])
  })

  test('costs few requests: at most one body for the first attempt, and fewer attempts than blocks on a fast chain', async () => {
    for (const [blockMs, requestsMax] of [
      [2_000, 300],
      [200, 450],
    ] as const) {
      const lane = scriptedLane({ history: blocks(400), floor: 2, patienceMs: 120_000 })
      lane.journal(2, 'a', mine(2))
      scriptAll(lane, claims(7))
      const usage = usageOn(lane)
      usage.count(2, 45)
      lane.head = 50
      usage.count(7, lane.head)
      await usage.idle()
      expect(bodies(lane)).toBeLessThanOrEqual(1)
      expect(batches(lane)).toBeLessThanOrEqual(5)
      await tick(lane, usage, 7, 60_000, blockMs)
      expect(batches(lane), `a block every ${blockMs} ms`).toBeLessThanOrEqual(requestsMax)
      expect(bodies(lane)).toBeLessThanOrEqual(requestsMax * 4)
      expect([lane.applied, lane.book.floor]).toEqual([[], 2])
    }
  })

  test('spaces the attempts up to 10 s on a chain without new blocks', async () => {
    const lane = scriptedLane({ history: blocks(50), floor: 2 })
    lane.journal(2, 'a', mine(2))
    scriptAll(lane, noBodies)
    const at: number[] = []
    const [only] = lane.endpoints
    if (only)
      only.script = (call) => {
        if (isBody(call)) at.push(lane.clock.now())
        return noBodies(call) ?? claims(7)(call)
      }
    await tick(lane, usageOn(lane), 7, 60_000)
    const looks = [...new Set(at)]
    expect(looks.length).toBeGreaterThanOrEqual(6)
    expect(looks.length).toBeLessThanOrEqual(12)
  })
})

describe('a jump: more than 64 nonces used without this lane', () => {
  test('holds the lane with the numbers after two readings at different blocks, not after one', async () => {
    const lane = scriptedLane({ history: blocks(20) })
    scriptAll(lane, claims(65))
    const usage = usageOn(lane)
    usage.count(65, 18)
    usage.count(65, 18)
    await lane.clock.advance(1)
    expect(lane.holds.size).toBe(0)
    usage.count(65, 19)
    await lane.clock.advance(1)
    expect(lane.holds.get('jump')).toMatch(/counts 65 used nonces at block 19, and this lane knows of 0/)
    expect(lane.book.floor).toBe(0)
    usage.count(64, 19)
    expect(lane.holds.size).toBe(0)
  })

  test('does not count 64 as a jump', async () => {
    const lane = scriptedLane({ history: blocks(20) })
    const usage = usageOn(lane)
    usage.count(64, 18)
    usage.count(64, 19)
    await lane.clock.advance(1)
    expect(lane.holds.size).toBe(0)
  })

  test('does not hold if another endpoint counts less, and doubts the reader with both numbers', async () => {
    const lane = scriptedLane({ history: blocks(60), endpoints: 2 })
    const [reader, other] = lane.endpoints
    if (reader) reader.script = claims(100)
    const usage = usageOn(lane)
    lane.head = 18
    await tick(lane, usage, 100, 30_000, 2_000)
    expect(lane.holds.size).toBe(0)
    expect(lane.doubts[0]).toBe('the endpoint counts 100 used nonces, and another endpoint counts 0')
    // From here on it agrees.
    if (other) other.script = claims(100)
    await tick(lane, usage, 100, 5_000, 2_000)
    expect([...lane.holds.keys()]).toEqual(['jump'])
  })

  test('is not contradicted by another endpoint that does not answer', async () => {
    const lane = scriptedLane({ history: blocks(60), endpoints: 2 })
    const [reader, other] = lane.endpoints
    if (reader) reader.script = claims(100)
    if (other) other.script = () => REFUSED
    lane.head = 18
    await tick(lane, usageOn(lane), 100, 5_000, 2_000)
    expect([...lane.holds.keys()]).toEqual(['jump'])
  })

  test('does not hold for a count that fell during the comparison', async () => {
    const lane = scriptedLane({ history: blocks(20), endpoints: 2 })
    scriptAll(lane, claims(100))
    const usage = usageOn(lane)
    usage.count(100, 18)
    usage.count(100, 19)
    usage.count(0, 19)
    await lane.clock.advance(1)
    expect(lane.holds.size).toBe(0)
  })

  test('is not believed however often it is read, until resume() accepts it', async () => {
    const lane = scriptedLane({ history: blocks(60) })
    scriptAll(lane, claims(100))
    const usage = usageOn(lane)
    lane.head = 18
    await tick(lane, usage, 100, 30_000, 2_000)
    expect(lane.book.floor).toBe(0)
    usage.acceptJump()
    expect(lane.book.floor).toBe(100)
  })

  test('is not believed for the unbound nonces either if a nonce below the count is bound', async () => {
    const lane = scriptedLane({ history: blocks(60), patienceMs: 600_000 })
    lane.journal(5, 'a', mine(5))
    scriptAll(lane, claims(100))
    const usage = usageOn(lane)
    lane.head = 18
    await tick(lane, usage, 100, 30_000, 2_000)
    expect([lane.book.floor, [...lane.holds.keys()]]).toEqual([0, ['jump']])
  })

  test('is explained and lifted by a witness for the highest nonce', async () => {
    const all = Array.from({ length: 100 }, (_, nonce) => foreign(nonce))
    const lane = scriptedLane({ history: blocks(22, { 19: all }) })
    lane.head = 21
    await tick(lane, usageOn(lane), 100, 1_000)
    expect([lane.book.floor, lane.holds.size]).toEqual([100, 0])
    expect(lane.emitted).toEqual([{ event: 'foreign', payload: { nonce: 99, hash: foreign(99) } }])
  })

  test('a witness that the store knows is a transaction of an earlier process, and not foreign', async () => {
    const all = Array.from({ length: 100 }, (_, nonce) => foreign(nonce))
    const lane = scriptedLane({ history: blocks(22, { 19: all }) })
    lane.stored.add(foreign(99))
    lane.head = 21
    await tick(lane, usageOn(lane), 100, 1_000)
    expect([lane.book.floor, lane.emitted]).toEqual([100, []])
  })

  test('never skips nonces that are bound to the lane, and finds a witness for each', async () => {
    const all = Array.from({ length: 100 }, (_, nonce) => (nonce === 1 ? mine(1) : foreign(nonce)))
    const lane = scriptedLane({ history: blocks(22, { 19: all }) })
    lane.journal(0, 'a', mine(0))
    lane.journal(1, 'b', mine(1))
    lane.head = 21
    await tick(lane, usageOn(lane), 100, 1_000)
    expect(lane.applied.slice(0, 2)).toEqual(['0 evidence', '1 sealed'])
    expect(lane.book.get(1)).toMatchObject({ state: 'used', by: { kind: 'claim', claim: 'b' } })
  })
})

describe('CREATE in delegated code, which leaves no trace', () => {
  function delegated(endpoints: number, lossDepth: number | 'child' = 'child'): ScriptedLane {
    const code = `0xef0100${'12'.repeat(20)}` as const
    const lane = scriptedLane({
      history: blocks(21, { 18: [mine(0), null] }),
      floor: 1,
      endpoints,
      code,
      lossDepth,
    })
    lane.journal(1, 'b', mine(1))
    return lane
  }

  test('is not proven by one endpoint alone: row 26', async () => {
    const lane = delegated(1)
    await tick(lane, usageOn(lane), 2, 0)
    expect(lane.applied).toEqual(['1 passed'])
  })

  test('is not proven by one endpoint that answers twice', async () => {
    const lane = delegated(1, 12)
    // The use is not deep enough for row 26 yet.
    await tick(lane, usageOn(lane), 2, 30_000)
    expect(lane.applied).toEqual([])
  })

  test('is proven by two endpoints that agree', async () => {
    const lane = delegated(2)
    const usage = usageOn(lane)
    await tick(lane, usage, 2, 0)
    expect(lane.applied).toEqual([])
    await tick(lane, usage, 2, 2_000)
    expect(lane.applied).toEqual(['1 evidence'])
    expect(lane.book.get(1)).toMatchObject({ by: { kind: 'other', hash: undefined } })
  })

  describe.each([1, 3])('a count that is %i too high, of an unbound nonce', (by) => {
    function ahead(endpoints: number): ScriptedLane {
      const code = `0xef0100${'12'.repeat(20)}` as const
      const lane = scriptedLane({ history: blocks(21, { 18: [null] }), floor: 1, endpoints, code })
      const [first] = lane.endpoints
      if (first)
        first.script = (call) => {
          const truth = lane.chain.answer(call)
          const isAhead = isCount(call) && truth.ok && truth.result === '0x1'
          return isAhead ? { ok: true, result: `0x${(1 + by).toString(16)}` } : undefined
        }
      return lane
    }

    test('is not believed while another endpoint denies it', async () => {
      const lane = ahead(2)
      await tick(lane, usageOn(lane), 1 + by, 60_000)
      expect(lane.applied).toEqual([])
      expect(lane.book.floor).toBe(1)
    })

    test('is believed, and revocable by a lower count, if no other endpoint answers', async () => {
      const lane = ahead(1)
      await tick(lane, usageOn(lane), 1 + by, 60_000)
      expect(lane.applied).toEqual([])
      expect(lane.book.floor).toBe(1 + by)
      lane.book.lower(1)
      expect(lane.book.floor).toBe(1)
    })
  })

  test('is not believed if one of two endpoints denies it', async () => {
    const lane = delegated(2)
    const [, other] = lane.endpoints
    if (other) other.script = claims(1)
    await tick(lane, usageOn(lane), 2, 60_000)
    expect(lane.applied).toEqual([])
  })
})

test('applies other transactions of the lane in the same block without a search of their own', async () => {
  const lane = scriptedLane({ history: blocks(20, { 15: [mine(0), mine(1), mine(2)] }) })
  for (const nonce of [0, 1, 2]) lane.journal(nonce, `t${nonce}`, mine(nonce))
  await tick(lane, usageOn(lane), 3, 0)
  expect(lane.applied).toEqual(['0 sealed', '1 sealed', '2 sealed'])
  expect(batches(lane)).toBeLessThanOrEqual(5)
})

test('ignores a block whose header and body name different transactions', async () => {
  const lane = scriptedLane({ history: blocks(20, { 15: [mine(0)] }) })
  for (const nonce of [0, 1]) lane.journal(nonce, `t${nonce}`, mine(nonce))
  const [only] = lane.endpoints
  let looks = 0
  if (only)
    only.script = (call) => {
      const isHeader =
        call.method === 'eth_getBlockByNumber' && Number(call.params[0]) === 15 && !isBody(call)
      if (!isHeader) return undefined
      looks++
      const { result } = lane.chain.answer(call) as { result: object }
      return { ok: true, result: { ...result, transactions: [mine(0), mine(1)] } }
    }
  await tick(lane, usageOn(lane), 1, 0)
  expect(looks).toBe(1)
  expect(lane.applied).toEqual([])
})
