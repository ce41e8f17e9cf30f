import { expect, test } from 'vitest'
import { isCount } from '../../../test/support/scriptedChain.js'
import type { RpcReply } from '../../rpc/port.js'
import { ADDRESS, mine, type ScriptedLane, scriptedLane } from './scriptedLane.fixture.js'
import { createCountBelief, createJumpHold } from './usedCount.js'

/** A lane without known nonces, and another endpoint that counts `elsewhere`. */
function jumpOn(elsewhere = 1_000) {
  const lane = scriptedLane({ history: [[], []], endpoints: 2 })
  const other = lane.endpoints[1] as ScriptedLane['endpoints'][number]
  const counts = (count: number) => {
    other.script = (call) =>
      isCount(call) ? ({ ok: true, result: `0x${count.toString(16)}` } as RpcReply) : undefined
  }
  counts(elsewhere)
  const belief = createCountBelief({
    clock: lane.clock,
    endpointPool: lane.context.endpointPool,
    address: ADDRESS,
    timeoutMs: 1_000,
  })
  const jump = createJumpHold(lane.context, belief)
  /** Passes counts at consecutive blocks, and waits for their effects. */
  async function read(...all: readonly number[]): Promise<boolean> {
    for (const [index, count] of all.entries()) jump.count(count, 10 + index)
    await lane.clock.advance(1)
    expect(lane.holds.has('jump')).toBe(jump.isHeld)
    return jump.isHeld
  }
  return { lane, jump, counts, read, asked: () => other.batches.length }
}

test('compares a count with the other endpoints once, not at each tick of the comparison or of the hold', async () => {
  const { asked, read } = jumpOn()
  expect(await read(100, 100, 100, 100)).toBe(true)
  expect(asked()).toBe(1)
  await read(100, 100)
  expect(asked()).toBe(1)
  // A higher count is compared when it is confirmed itself.
  await read(101, 101)
  expect(asked()).toBe(2)
})

test('needs a new confirmation for a contradicted count before it asks the other endpoints again', async () => {
  const { asked, jump, lane, read } = jumpOn(5)
  expect(await read(100, 100)).toBe(false)
  jump.count(100, 20)
  await lane.clock.advance(1)
  expect(asked()).toBe(1)
  jump.count(100, 21)
  await lane.clock.advance(1)
  expect(asked()).toBe(2)
  expect(lane.doubts[0]).toBe('the endpoint counts 100 used nonces, and another endpoint counts 5')
})

test('lifts the hold when another endpoint contradicts the current count', async () => {
  const { counts, read } = jumpOn()
  expect(await read(100, 100)).toBe(true)
  counts(5)
  expect(await read(101, 101)).toBe(false)
})

test('does not hold for a count that bodies refuted during the comparison, or after the lane was closed', async () => {
  const { jump, read } = jumpOn()
  const answered = read(100, 100)
  jump.refuted(2)
  expect(await answered).toBe(false)
  const closed = jumpOn()
  const late = closed.read(100, 100)
  Object.assign(closed.lane.context, { closed: true })
  expect(await late).toBe(false)
})

test('lifts the hold when bodies show at most 64 nonces above the known ones', async () => {
  const { jump, lane, read } = jumpOn()
  lane.journal(0, 'a', mine(0))
  expect(await read(100, 100)).toBe(true)
  jump.refuted(66)
  expect([jump.isHeld, lane.holds.size]).toEqual([true, 1])
  jump.refuted(65)
  expect([jump.isHeld, lane.holds.size]).toEqual([false, 0])
})

test('accept() believes the held count, and no other', async () => {
  const { jump, lane, read } = jumpOn()
  await read(100)
  jump.accept()
  expect(lane.book.floor).toBe(0)
  await read(100, 100)
  jump.accept()
  expect([lane.book.floor, jump.isHeld]).toEqual([100, false])
})

test('measures a jump from the reserved nonces, not from the used ones', async () => {
  const { lane, read } = jumpOn()
  for (let nonce = 0; nonce < 10; nonce++) lane.journal(nonce, `t${nonce}`, mine(nonce))
  expect(await read(74, 74)).toBe(false)
  expect(await read(75, 75)).toBe(true)
  expect(await read(74)).toBe(false)
})
