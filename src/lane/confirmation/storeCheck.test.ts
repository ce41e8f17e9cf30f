import type { Hash } from 'viem'
import { expect, test } from 'vitest'
import { isCount } from '../../../test/support/scriptedChain.js'
import type { BlockRef } from '../../ledger/slot.js'
import type { RpcCall } from '../../rpc/port.js'
import { type ScriptedLane, scriptedLane } from './scriptedLane.fixture.js'
import { createStoreCheck } from './storeCheck.js'

const CURSOR = 5

const counts = (count: number) => (call: RpcCall) =>
  isCount(call) ? ({ ok: true, result: `0x${count.toString(16)}` } as const) : undefined

/** A check with one other endpoint that counts this many, or without another endpoint. */
function checkBeside(
  other: number | undefined,
  { isDisputed = false, madeAt }: { isDisputed?: boolean; madeAt?: BlockRef } = {},
) {
  const lane = scriptedLane({ history: [[]], endpoints: other === undefined ? 1 : 2 })
  say(lane, other)
  let changes = 0
  const check = createStoreCheck(lane.context, { cursor: CURSOR, isDisputed, madeAt }, () => changes++)
  const judge = async (count: number) => {
    check.compare({ min: count, max: count })
    await lane.clock.advance(1)
  }
  return { lane, check, judge, changes: () => changes, holds: () => [...lane.holds.keys()] }
}

function say(lane: ScriptedLane, count: number | undefined): void {
  const [, other] = lane.endpoints
  if (other && count !== undefined) other.script = counts(count)
}

test('ends a dispute when every endpoint has counted no more than the store knows, three times in a row', async () => {
  const { lane, check, judge } = checkBeside(5, { isDisputed: true })
  await judge(5)
  await judge(5)
  say(lane, 6)
  await judge(5)
  say(lane, 5)
  await judge(5)
  await judge(5)
  expect([check.isDisputed, check.isOpen]).toEqual([true, true])
  await judge(5)
  expect([check.isDisputed, check.isOpen]).toEqual([false, false])
})

test('continues while the endpoints disagree, whichever counts more, and reports both numbers', async () => {
  for (const [reader, other] of [
    [9, 5],
    [5, 9],
  ] as const) {
    const { check, judge, holds } = checkBeside(other, { isDisputed: true })
    for (let times = 0; times < 5; times++) await judge(reader)
    expect([check.isDisputed, holds()]).toEqual([true, []])
    expect(check.detail).toContain('counts 5 nonces at `pending`, another one 9: the store knows of 5')
  }
})

test('sets storeBehindChain when all endpoints count more, with two endpoints and with one', async () => {
  for (const other of [6, undefined]) {
    const { check, judge, holds } = checkBeside(other)
    await judge(6)
    expect([check.isDisputed, holds()]).toEqual([false, ['storeBehindChain']])
  }
})

test('starts a dispute with a count above the store before anything else is done', () => {
  const { check } = checkBeside(6)
  check.compare({ min: 6, max: 6 })
  expect(check.isDisputed).toBe(true)
})

test('lifts the hold when every endpoint refutes it three times in a row', async () => {
  const { lane, judge, holds } = checkBeside(6)
  await judge(6)
  for (let times = 0; times < 4; times++) await judge(5)
  expect(holds()).toEqual(['storeBehindChain'])
  say(lane, 5)
  for (let times = 0; times < 3; times++) await judge(5)
  expect(holds()).toEqual([])
})

test('starts no dispute for a count that the store knows, and asks no other endpoint', async () => {
  const { lane, check, judge } = checkBeside(9)
  await judge(CURSOR)
  expect([check.isDisputed, lane.endpoints[1]?.batches.length]).toEqual([false, 0])
})

test('asks the other endpoints once at a time', async () => {
  const { lane, check, judge, changes } = checkBeside(5, { isDisputed: true })
  check.compare({ min: 5, max: 5 })
  await judge(5)
  expect([lane.endpoints[1]?.batches.length, changes()]).toEqual([1, 1])
})

test("ignores the others' answers after an operator accepted, or after the lane was closed", async () => {
  for (const ended of ['accepted', 'closed'] as const) {
    const { lane, check, judge, changes, holds } = checkBeside(9, { isDisputed: true })
    const judged = judge(9)
    if (ended === 'accepted') check.accept()
    else Object.assign(lane.context, { closed: true })
    await judged
    expect([changes(), holds()], ended).toEqual([0, []])
  }
})

test('an operator ends a dispute', () => {
  const { check } = checkBeside(5, { isDisputed: true })
  check.accept()
  expect([check.isDisputed, check.isOpen]).toEqual([false, false])
})

test('does not check a store that cannot be older than the chain', async () => {
  const lane = scriptedLane({ history: [[]], endpoints: 2 })
  const check = createStoreCheck(
    lane.context,
    { cursor: undefined, isDisputed: false, madeAt: undefined },
    () => {},
  )
  check.compare({ min: 9, max: 9 })
  await lane.clock.advance(1)
  expect([check.isDisputed, lane.holds.size, lane.endpoints[1]?.batches.length]).toEqual([false, 0, 0])
})

/**
 * One endpoint. Block 3 is the newest block that the store knew, and the nonce above its cursor was used in
 * this block.
 */
function checkUsedIn(used: number | undefined, madeAt: Partial<BlockRef> = {}) {
  const lane = scriptedLane({ history: [[], [], [], [], []], floor: CURSOR })
  const blockAt = (number: number): BlockRef => ({ number, hash: lane.chain.blockHash(number) as Hash })
  if (used === undefined) lane.book.raise(CURSOR + 1)
  else lane.book.apply(CURSOR, { type: 'evidence', block: blockAt(used), hash: '0xf0' })
  lane.holds.set('storeBehindChain', undefined)
  const start = { cursor: CURSOR, isDisputed: false, madeAt: { ...blockAt(3), ...madeAt } }
  const check = createStoreCheck(lane.context, start, () => {})
  return async (count: number, times: number) => {
    for (let readings = 0; readings < times; readings++) {
      check.compare({ min: count, max: count })
      await lane.clock.advance(1)
    }
    return [...lane.holds.keys()]
  }
}

test('lifts the hold after three readings if the nonce was used in a block that the store knew', async () => {
  for (const used of [1, 2, 3]) {
    const judge = checkUsedIn(used)
    expect(await judge(CURSOR + 1, 2)).toEqual(['storeBehindChain'])
    expect(await judge(CURSOR + 1, 1)).toEqual([])
  }
})

test.each([
  ['in a block above it', checkUsedIn(4), CURSOR + 1],
  ['in a block that nothing shows', checkUsedIn(undefined), CURSOR + 1],
  ['while the known block is not on the chain', checkUsedIn(2, { hash: '0xab' }), CURSOR + 1],
  ['and more nonces are counted', checkUsedIn(2), CURSOR + 2],
])('the hold stays where the nonce was used %s', async (_, judge, count) => {
  expect(await judge(count, 6)).toEqual(['storeBehindChain'])
})
