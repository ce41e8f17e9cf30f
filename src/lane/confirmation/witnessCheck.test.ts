import type { Hash } from 'viem'
import { expect, test } from 'vitest'
import { hashOf, isBody } from '../../../test/support/scriptedChain.js'
import type { RpcCall, RpcReply } from '../../rpc/port.js'
import { foreign, mine, type ScriptedLane, scriptedLane } from './scriptedLane.fixture.js'
import { createWitnessCheck } from './witnessCheck.js'

/**
 * Nonce 0 is bound to a transaction, and block 2 contains another transaction of the account with that nonce.
 */
function usedByAnother(endpoints = 1): ScriptedLane {
  const lane = scriptedLane({ history: [[], [], [foreign(0)], []], endpoints })
  lane.journal(0, 'a', mine(0))
  show(lane, 2, foreign(0))
  return lane
}

function show(lane: ScriptedLane, number: number, hash: Hash | undefined): void {
  const block = { number, hash: lane.chain.blockHash(number) }
  lane.book.apply(0, { type: 'evidence', block, hash })
}

const bodies = (lane: ScriptedLane, index: number) =>
  lane.endpoints[index]?.batches.flat().filter(isBody).length

const SILENT: RpcReply = { ok: false, failure: { kind: 'timeout', message: 'no answer' } }

/** A body that agrees with its header, without the witness. */
const without =
  (lane: ScriptedLane) =>
  (call: RpcCall): RpcReply | undefined => {
    if (!isBody(call)) return undefined
    const { result } = lane.chain.answer(call) as { result: { transactions: { hash: Hash }[] } }
    const transactions = result.transactions.filter(({ hash }) => hash !== foreign(0))
    return { ok: true, result: { ...result, transactions } }
  }

test('rule W: the verdict waits for a second reading of the body, at another endpoint if there is one', async () => {
  const lane = usedByAnother(2)
  const check = createWitnessCheck(lane.context)
  expect(check.confirmed(0)).toBe(false)
  expect(check.wanted).toBe(true)
  await lane.clock.advance(0)
  expect([bodies(lane, 0), bodies(lane, 1)]).toEqual([0, 1])
  expect(check.confirmed(0)).toBe(true)
  expect(check.wanted).toBe(false)
  expect(lane.applied).toEqual([])
})

test('rule W: a single endpoint is read once more', async () => {
  const lane = usedByAnother()
  const check = createWitnessCheck(lane.context)
  expect(check.confirmed(0)).toBe(false)
  await lane.clock.advance(0)
  expect(bodies(lane, 0)).toBe(1)
  expect(check.confirmed(0)).toBe(true)
})

test('reads once at a time, and wakes the poller for the answer', async () => {
  const lane = usedByAnother()
  const check = createWitnessCheck(lane.context)
  check.confirmed(0)
  check.confirmed(0)
  expect(lane.woken).toBe(0)
  await lane.clock.advance(0)
  expect([bodies(lane, 0), lane.woken]).toEqual([1, 1])
})

test('ignores an endpoint on another chain', async () => {
  const lane = usedByAnother()
  const [only] = lane.endpoints
  if (only) only.script = ({ method }) => (method === 'eth_chainId' ? { ok: true, result: '0x2' } : undefined)
  const check = createWitnessCheck(lane.context)
  check.confirmed(0)
  await lane.clock.advance(0)
  expect([check.confirmed(0), lane.applied]).toEqual([false, []])
})

test('reads again if bytes of this lane were sent, although their transaction has ended', async () => {
  const lane = scriptedLane({ history: [[], [], [foreign(0)], []] })
  lane.journal(0, 'a', mine(0))
  lane.book.apply(0, { type: 'executedElsewhere', claim: 'a', token: 900 })
  show(lane, 2, foreign(0))
  expect(lane.book.get(0)).toMatchObject({ state: 'used', claims: [] })
  expect(createWitnessCheck(lane.context).confirmed(0)).toBe(false)
})

test('a nonce that is live again has no verdict to wait for', () => {
  const lane = usedByAnother()
  const check = createWitnessCheck(lane.context)
  check.confirmed(0)
  expect(check.wanted).toBe(true)
  lane.book.apply(0, { type: 'left', block: { number: 2, hash: lane.chain.blockHash(2) }, token: 900 })
  expect([check.confirmed(0), check.wanted]).toEqual([true, false])
})

test('row 34: reopens the nonce and doubts the endpoint if the second body lacks the witness', async () => {
  const lane = usedByAnother(2)
  const [, other] = lane.endpoints
  if (other) other.script = without(lane)
  const check = createWitnessCheck(lane.context)
  check.confirmed(0)
  await lane.clock.advance(0)
  expect(lane.applied).toEqual(['0 unwitnessed'])
  expect(lane.book.get(0)).toMatchObject({ state: 'live', claims: ['a'] })
  expect(lane.doubts).toEqual([`block 2 was shown with transaction ${foreign(0)}, and e1 shows it without`])
  expect(check.wanted).toBe(false)
})

test('gives no verdict without an answer, and asks each endpoint in turn at growing intervals', async () => {
  const lane = usedByAnother(2)
  for (const endpoint of lane.endpoints) endpoint.script = () => SILENT
  const check = createWitnessCheck(lane.context)
  for (let second = 0; second < 60; second++) {
    expect(check.confirmed(0)).toBe(false)
    await lane.clock.advance(1_000)
  }
  const asked = lane.endpoints.map(({ batches }) => batches.length)
  expect(Math.max(...asked)).toBeLessThanOrEqual(4)
  expect(Math.min(...asked)).toBeGreaterThanOrEqual(2)
  for (const endpoint of lane.endpoints) endpoint.script = undefined
  await lane.clock.advance(30_000)
  check.confirmed(0)
  await lane.clock.advance(0)
  expect(check.confirmed(0)).toBe(true)
})

test('ignores a body that contradicts itself, or belongs to another block', async () => {
  for (const change of [{ transactions: [] }, { hash: hashOf('block', 9, 9) }]) {
    const lane = usedByAnother()
    const [only] = lane.endpoints
    if (only)
      only.script = (call) => {
        const reply = lane.chain.answer(call)
        return isBody(call) && reply.ok
          ? { ok: true, result: { ...(reply.result as object), ...change } }
          : undefined
      }
    const check = createWitnessCheck(lane.context)
    check.confirmed(0)
    await lane.clock.advance(0)
    expect(check.confirmed(0)).toBe(false)
    expect(lane.applied).toEqual([])
    expect(lane.doubts).toEqual([])
  }
})

test('a reading counts only for its block, so that a reorg causes a new one', async () => {
  const lane = usedByAnother()
  const check = createWitnessCheck(lane.context)
  check.confirmed(0)
  await lane.clock.advance(0)
  lane.book.apply(0, { type: 'left', block: { number: 2, hash: lane.chain.blockHash(2) }, token: 900 })
  show(lane, 3, foreign(0))
  expect(check.confirmed(0)).toBe(false)
  await lane.clock.advance(0)
  // Block 3 does not contain it.
  expect(lane.applied).toEqual(['0 unwitnessed'])
})

test('does not read again if no body was the reason, or if nothing of this lane would move', () => {
  const bare = scriptedLane({ history: [[], [], [foreign(0)]] })
  show(bare, 2, foreign(0))
  const created = scriptedLane({ history: [[], [], [foreign(0)]] })
  created.journal(0, 'a', mine(0))
  show(created, 2, undefined)
  const landed = scriptedLane({ history: [[], [], [mine(0)]] })
  landed.journal(0, 'a', mine(0))
  landed.book.apply(0, {
    type: 'sealed',
    hash: mine(0),
    block: { number: 2, hash: landed.chain.blockHash(2) },
  })
  // Bytes of this lane whose transaction had ended. The walk has seen them.
  const ended = scriptedLane({ history: [[], [], [mine(0)]] })
  ended.journal(0, 'a', mine(0))
  ended.book.apply(0, { type: 'outcome', hash: mine(0), outcome: 'intrinsic', epoch: 1 })
  ended.book.apply(0, { type: 'sealed', hash: mine(0), block: { number: 2, hash: ended.chain.blockHash(2) } })
  expect(ended.book.get(0)).toMatchObject({ state: 'used', by: { kind: 'other' } })
  const settled = usedByAnother()
  settled.book.apply(0, { type: 'lossDepth' })
  const unknown = scriptedLane({ history: [[]] })
  for (const lane of [bare, created, landed, ended, settled, unknown]) {
    const check = createWitnessCheck(lane.context)
    expect(check.confirmed(0)).toBe(true)
    expect(check.wanted).toBe(false)
    expect(lane.endpoints[0]?.batches).toEqual([])
  }
})

test('a closed lane applies nothing from a running read', async () => {
  const lane = usedByAnother()
  const [only] = lane.endpoints
  if (only) only.script = without(lane)
  const check = createWitnessCheck(lane.context)
  check.confirmed(0)
  Object.assign(lane.context, { closed: true })
  await lane.clock.advance(0)
  expect([lane.applied, lane.woken]).toEqual([[], 0])
})
