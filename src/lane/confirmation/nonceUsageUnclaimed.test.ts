import { describe, expect, test } from 'vitest'
import { noop, stuck } from '../../ledger/samples.fixture.js'
import { blocks, claims, noBodies, scriptAll, tick, usageOn } from './nonceUsage.fixture.js'
import { foreign, mine, type ScriptedLane, scriptedLane } from './scriptedLane.fixture.js'

describe('a nonce that concerns no caller, and whose use no body shows', () => {
  /** The first count was 3 too low; block 28 contains our transaction at the nonce after those. */
  function seededLow(): ScriptedLane {
    const strangers = [0, 1, 2].map(foreign)
    const history = blocks(30, { 0: strangers, 28: [mine(3)] })
    const lane = scriptedLane({ history, patienceMs: 600_000 })
    lane.book.suppose(3)
    lane.journal(3, 'a', mine(3))
    scriptAll(lane, noBodies)
    return lane
  }

  function land(lane: ScriptedLane): void {
    const block = { number: 28, hash: lane.chain.blockHash(28) as `0x${string}` }
    lane.book.apply(3, { type: 'sealed', hash: mine(3), block })
  }

  test('is used if a walked block contains a higher nonce of this lane, even against the count', async () => {
    const lane = seededLow()
    land(lane)
    await tick(lane, usageOn(lane), 0, 1_000)
    expect(lane.book.floor).toBe(4)
  })

  test('is not used if that block is no longer on the walked chain', async () => {
    const lane = seededLow()
    land(lane)
    lane.walked.set(28, foreign(1))
    await tick(lane, usageOn(lane), 0, 60_000)
    expect(lane.book.floor).toBe(0)
  })

  test('of the hypothesis: is used at the second reading of the count', async () => {
    const lane = seededLow()
    scriptAll(lane, (call) => noBodies(call) ?? claims(3)(call))
    const usage = usageOn(lane)
    lane.head = 18
    await tick(lane, usage, 3, 1_000)
    expect(lane.book.floor).toBe(0)
    lane.head = 19
    await tick(lane, usage, 3, 1_000)
    expect(lane.book.floor).toBe(3)
  })

  test('of a no-op of this lane: is used at the second reading, and free again when the count is refuted', async () => {
    const lane = seededLow()
    scriptAll(lane, (call) => noBodies(call) ?? claims(3)(call))
    const token = 7
    lane.book.apply(0, stuck({ token }))
    lane.book.apply(0, { type: 'committing', claim: undefined, token })
    lane.book.apply(0, { type: 'journaled', token, attempt: noop })
    const usage = usageOn(lane)
    lane.head = 18
    await tick(lane, usage, 3, 1_000)
    lane.head = 19
    await tick(lane, usage, 3, 4_000)
    expect([lane.book.floor, lane.book.get(0)?.state]).toEqual([3, 'used'])
    lane.book.apply(0, { type: 'refuted', token: 8 })
    expect(lane.book.get(0)).toMatchObject({ state: 'live', end: 'void' })
  })

  test('is used however long the hypothesis is', async () => {
    const lane = scriptedLane({ history: blocks(30) })
    lane.book.suppose(700)
    scriptAll(lane, claims(700))
    const usage = usageOn(lane)
    lane.head = 18
    await tick(lane, usage, 700, 1_000)
    lane.head = 19
    await tick(lane, usage, 700, 1_000)
    expect(lane.book.floor).toBe(700)
    expect(lane.holds.size).toBe(0)
  })
})
