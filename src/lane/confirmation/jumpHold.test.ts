import { expect, test } from 'vitest'
import { isCount } from '../../../test/support/scriptedChain.js'
import type { RpcReply } from '../../rpc/port.js'
import { createCountBelief } from './countBelief.js'
import { createJumpHold } from './jumpHold.js'
import { ADDRESS, mine, type ScriptedLane, scriptedLane } from './scriptedLane.fixture.js'

/** A lane that knows of no nonce, and another endpoint that counts `elsewhere`. */
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
  /** Counts at consecutive blocks, and what they lead to. */
  async function read(...all: readonly number[]): Promise<boolean> {
    for (const [index, count] of all.entries()) jump.count(count, 10 + index)
    await lane.clock.advance(1)
    expect(lane.holds.has('jump')).toBe(jump.isHeld)
    return jump.isHeld
  }
  return { lane, jump, counts, read, asked: () => other.batches.length }
}

test('a count is held against the others once: not at each tick while they are asked, nor while it holds', async () => {
  const { asked, read } = jumpOn()
  expect(await read(100, 100, 100, 100)).toBe(true)
  expect(asked()).toBe(1)
  await read(100, 100)
  expect(asked()).toBe(1)
  // A higher one is held against them when it is confirmed itself.
  await read(101, 101)
  expect(asked()).toBe(2)
})

test('a count that another endpoint contradicts has to be confirmed anew before it is asked again', async () => {
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

test('a hold lifts when another endpoint contradicts what is counted now', async () => {
  const { counts, read } = jumpOn()
  expect(await read(100, 100)).toBe(true)
  counts(5)
  expect(await read(101, 101)).toBe(false)
})

test('a count that bodies have refuted while the others were asked holds nothing, nor does one of a closed lane', async () => {
  const { jump, read } = jumpOn()
  const answered = read(100, 100)
  jump.refuted(2)
  expect(await answered).toBe(false)
  const closed = jumpOn()
  const late = closed.read(100, 100)
  Object.assign(closed.lane.context, { closed: true })
  expect(await late).toBe(false)
})

test('bodies lift a hold where they show no more than 64 nonces above those that are known', async () => {
  const { jump, lane, read } = jumpOn()
  lane.journal(0, 'a', mine(0))
  expect(await read(100, 100)).toBe(true)
  jump.refuted(66)
  expect([jump.isHeld, lane.holds.size]).toEqual([true, 1])
  jump.refuted(65)
  expect([jump.isHeld, lane.holds.size]).toEqual([false, 0])
})

test('an operator believes what is held, and nothing else', async () => {
  const { jump, lane, read } = jumpOn()
  await read(100)
  jump.accept()
  expect(lane.book.floor).toBe(0)
  await read(100, 100)
  jump.accept()
  expect([lane.book.floor, jump.isHeld]).toEqual([100, false])
})

test('a jump is counted from what was handed out, not from what is used', async () => {
  const { lane, read } = jumpOn()
  for (let nonce = 0; nonce < 10; nonce++) lane.journal(nonce, `t${nonce}`, mine(nonce))
  expect(await read(74, 74)).toBe(false)
  expect(await read(75, 75)).toBe(true)
  expect(await read(74)).toBe(false)
})
