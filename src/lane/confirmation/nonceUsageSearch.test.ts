import { describe, expect, test } from 'vitest'
import { isBody, isByHash, isCount, numberIn, rpcFailure } from '../../../test/support/scriptedChain.js'
import type { BlockRef } from '../../ledger/slot.js'
import type { RpcCall, RpcReply } from '../../rpc/port.js'
import { createNonceUsage } from './nonceUsage.js'
import { foreign, mine, type ScriptedLane, scriptedLane } from './scriptedLane.fixture.js'

type Uses = Record<number, readonly (`0x${string}` | null)[]>

const blocks = (length: number, uses: Uses = {}) => Array.from({ length }, (_, number) => uses[number] ?? [])

/** A lane with these nonces bound, on a chain of 20 blocks. */
function laneOn(uses: Uses, bound: readonly number[] = [], over: object = {}): ScriptedLane {
  const lane = scriptedLane({ history: blocks(20, uses), ...over })
  for (const nonce of bound) lane.journal(nonce, `t${nonce}`, mine(nonce))
  return lane
}

function usageOn(lane: ScriptedLane, carriedIn: (nonce: number) => BlockRef | undefined = () => undefined) {
  const unverifiedNonces = new Set<number>()
  return Object.assign(createNonceUsage(lane.context, unverifiedNonces, carriedIn), {
    unverifiedNonces,
  })
}

const PRUNED = rpcFailure(4444, 'pruned history unavailable')
const noBodies = (call: RpcCall) => (isBody(call) ? PRUNED : undefined)
const count = (value: number): RpcReply => ({ ok: true, result: `0x${value.toString(16)}` })
const claims = (value: number) => (call: RpcCall) => (isCount(call) ? count(value) : undefined)

function script(lane: ScriptedLane, index: number, answer: (call: RpcCall) => RpcReply | undefined): void {
  const endpoint = lane.endpoints[index]
  if (endpoint) endpoint.script = answer
}

/** The block number in the first count of each search, which is the start of the search. */
function beganAt(lane: ScriptedLane): readonly number[] {
  const asked = lane.endpoints.flatMap(({ batches }) => batches)
  const counts = asked.map((calls) => calls.filter(({ method }) => method !== 'eth_chainId'))
  const searches = counts.filter((calls) => calls.every((call) => isCount(call) && !isByHash(call)))
  return searches.flatMap(([first]) => (first ? [numberIn(first)] : []))
}

/** Passes one count, and waits for its effects. */
async function reported(
  lane: ScriptedLane,
  usage: ReturnType<typeof usageOn>,
  value: number,
  head = lane.head,
) {
  usage.count(value, head)
  await usage.idle()
  // A jump is compared with the other endpoints before it holds.
  await lane.clock.advance(1)
  return lane.applied
}

describe('one count', () => {
  test('searches all nonces below it, in all blocks that contain them', async () => {
    const lane = laneOn({ 5: [foreign(0)], 9: [foreign(1)], 12: [mine(2)] }, [0, 1, 2])
    expect(await reported(lane, usageOn(lane), 3)).toEqual(['0 evidence', '1 evidence', '2 sealed'])
  })

  test('costs four requests and one search if our own attempt explains it', async () => {
    const lane = laneOn({ 12: [mine(0)] }, [0])
    expect(await reported(lane, usageOn(lane), 1)).toEqual(['0 sealed'])
    expect(lane.endpoints[0]?.batches).toHaveLength(4)
  })

  test('starts no second search while one is running', async () => {
    const lane = laneOn({ 12: [mine(0)] }, [0])
    const usage = usageOn(lane)
    usage.count(1, 19)
    expect(usage.wanted).toBe(true)
    expect(await reported(lane, usage, 1)).toEqual(['0 sealed'])
    expect(lane.endpoints[0]?.batches).toHaveLength(4)
  })

  test('stops the search once the lane is closed', async () => {
    const lane = laneOn({ 5: [foreign(0)], 9: [foreign(1)] }, [0, 1])
    script(lane, 0, (call) => {
      if (isBody(call)) Object.assign(lane.context, { closed: true })
      return undefined
    })
    await reported(lane, usageOn(lane), 2)
    expect(lane.endpoints[0]?.batches.flat().filter(isBody)).toHaveLength(1)
  })

  test('is investigated only at an endpoint on this chain', async () => {
    const lane = laneOn({ 12: [mine(0)] }, [0])
    script(lane, 0, ({ method }) => (method === 'eth_chainId' ? count(2) : undefined))
    expect(await reported(lane, usageOn(lane), 1)).toEqual([])
  })

  test('is investigated only on the walked blocks', async () => {
    for (const number of [12, 19]) {
      const lane = laneOn({ 12: [mine(0)] }, [0])
      lane.walked.set(number, foreign(99))
      expect(await reported(lane, usageOn(lane), 1), `block ${number}`).toEqual([])
    }
  })
})

describe('progress of the walk during a search', () => {
  test('needs no verdict, and the search continues with the next nonce', async () => {
    const lane = laneOn({ 12: [mine(0)], 14: [foreign(1)] }, [0, 1])
    const block = { number: 12, hash: lane.chain.blockHash(12) }
    script(lane, 0, (call) => {
      if (isBody(call) && lane.book.floor === 0)
        lane.book.apply(0, { type: 'sealed', hash: mine(0), block, walked: true })
      return undefined
    })
    expect(await reported(lane, usageOn(lane), 2)).toEqual(['1 evidence'])
  })

  test('is not applied a second time from the block that the search found', async () => {
    const lane = laneOn({ 12: [mine(0), mine(1), mine(2)] }, [0, 1, 2])
    const block = { number: 12, hash: lane.chain.blockHash(12) }
    lane.book.apply(1, { type: 'sealed', hash: mine(1), block, walked: true })
    expect(await reported(lane, usageOn(lane), 3)).toEqual(['0 sealed', '2 sealed'])
  })
})

describe('a block that the walk does not know', () => {
  const cases: [string, Uses, (chain: ScriptedLane['chain']) => BlockRef | undefined, readonly number[]][] = [
    ['own', { 5: [mine(0), mine(1)] }, () => undefined, [0, 1]],
    ['other', { 5: [foreign(0), foreign(1)] }, () => undefined, [0, 1]],
    ['authorized', { 5: [null] }, (chain) => ({ number: 5, hash: chain.blockHash(5) }), [0]],
  ]
  test.each(cases)('extends the walk before a verdict rests on it: %s', async (_, uses, carried, nonces) => {
    for (const walkedFrom of [0, 10]) {
      const lane = laneOn(uses, nonces)
      lane.walkedFrom = walkedFrom
      const usage = usageOn(lane, () => carried(lane.chain))
      expect(await reported(lane, usage, nonces.length)).toHaveLength(nonces.length)
      const isUnknown = walkedFrom > 5
      expect([...usage.unverifiedNonces]).toEqual(isUnknown ? nonces : [])
      expect([...new Set(lane.reached)]).toEqual(isUnknown ? [5] : [])
    }
  })

  test('extends the walk before a verdict rests on it: created', async () => {
    const code = `0xef0100${'12'.repeat(20)}` as const
    const lane = laneOn({ 5: [null] }, [], { code, endpoints: 2 })
    lane.walkedFrom = 10
    const usage = usageOn(lane)
    expect(await reported(lane, usage, 1)).toEqual([])
    await lane.clock.advance(1_000)
    expect(await reported(lane, usage, 1)).toEqual(['0 evidence'])
    expect([[...usage.unverifiedNonces], lane.reached]).toEqual([[0], [5]])
  })
})

describe('a tuple of this lane', () => {
  test('proves nothing in a block that left during the read', async () => {
    const lane = laneOn({ 5: [null] })
    script(lane, 0, (call) => {
      if (isByHash(call)) lane.walked.set(5, foreign(99))
      return undefined
    })
    const carrier = { number: 5, hash: lane.chain.blockHash(5) }
    expect(
      await reported(
        lane,
        usageOn(lane, () => carrier),
        1,
      ),
    ).toEqual([])
  })

  test('is never reported as foreign, whether the body shows the tuple or only the counts do', async () => {
    const lane = laneOn({ 5: [foreign(0), null] })
    const carrier = { number: 5, hash: lane.chain.blockHash(5) }
    await reported(
      lane,
      usageOn(lane, () => carrier),
      2,
    )
    expect(lane.events).toMatchObject([
      { type: 'evidence', authorized: true },
      { type: 'evidence', authorized: true },
    ])
    const other = laneOn({ 5: [foreign(0)] })
    await reported(
      other,
      usageOn(other, () => ({ ...carrier, hash: foreign(99) })),
      1,
    )
    expect(other.events).toMatchObject([{ type: 'evidence', authorized: false }])
  })
})

describe('the search begins', () => {
  test('at the newest block in which the count had not passed the nonce', async () => {
    const lane = laneOn({ 12: [foreign(0)] })
    const usage = usageOn(lane)
    usage.count(0, 7)
    usage.count(0, 4)
    await reported(lane, usage, 1)
    expect(beganAt(lane)).toEqual([7])
  })

  test('not above the head, if the chain was cut back or was never as long', async () => {
    const lane = laneOn({ 12: [foreign(0)] })
    const usage = usageOn(lane)
    usage.count(0, 1_000_000)
    await reported(lane, usage, 1)
    expect(lane.events).toMatchObject([{ type: 'evidence' }])
  })

  test('below a block that left, because readings at it are invalid', async () => {
    const lane = laneOn({ 12: [foreign(0)] })
    const usage = usageOn(lane)
    usage.count(0, 7)
    usage.left({ number: 8, hash: foreign(99) })
    usage.left({ number: 7, hash: foreign(99) })
    await reported(lane, usage, 1)
    expect(beganAt(lane)).toEqual([6])
  })

  test('31 blocks below the head without an earlier reading', async () => {
    const lane = scriptedLane({ history: blocks(60, { 40: [foreign(0)] }) })
    await reported(lane, usageOn(lane), 1)
    expect(beganAt(lane)[0]).toBe(28)
  })

  test('for the next nonce, right below the block of the previous one', async () => {
    const lane = laneOn({ 9: [mine(0), foreign(1)] }, [0])
    await reported(lane, usageOn(lane), 2)
    expect(beganAt(lane)).toEqual([0, 8])
  })

  test('at a head where the endpoint itself counts less than the tick did', async () => {
    const lane = scriptedLane({ history: blocks(30, { 25: [foreign(0)] }) })
    lane.head = 20
    const usage = usageOn(lane)
    expect(await reported(lane, usage, 1)).toEqual([])
    // The search runs again although no node has reported the nonce.
    expect([usage.unexplained, usage.isOpen]).toEqual([undefined, true])
    lane.head = 29
    await lane.clock.advance(1_000)
    expect(await reported(lane, usage, 1)).toEqual(['0 evidence'])
    expect(beganAt(lane)).toEqual([20])
  })
})

describe('the patience for a nonce without a readable body', () => {
  /** Three nonces of this lane that others have used, and no bodies. */
  function withoutBodies() {
    const lane = laneOn({ 2: [foreign(0), foreign(1), foreign(2)] }, [0, 1, 2], { patienceMs: 10_000 })
    script(lane, 0, noBodies)
    const usage = usageOn(lane)
    async function wait(forMs: number): Promise<readonly string[]> {
      for (let ms = 0; ms < forMs; ms += 500) {
        await reported(lane, usage, 3)
        await lane.clock.advance(500)
      }
      return reported(lane, usage, 3)
    }
    return { lane, wait }
  }

  test('is spent once, and the nonces above continue without it', async () => {
    const { wait } = withoutBodies()
    expect(await wait(9_000)).toEqual([])
    expect(await wait(11_000)).toEqual(['0 passed', '1 passed', '2 passed'])
  })

  test('starts over above a nonce that was explained, or that is not right below', async () => {
    for (const walked of [0, 1]) {
      const { lane, wait } = withoutBodies()
      const block = { number: 2, hash: lane.chain.blockHash(2) }
      expect(await wait(9_000)).toEqual([])
      lane.book.apply(walked, { type: 'evidence', block, hash: foreign(walked) })
      const rest = await wait(9_000)
      // With nonce 0 explained, nonce 1 waits for the whole patience. With nonce 1 explained, nonce 0 had
      // waited long enough.
      expect(rest).toEqual(walked === 0 ? [] : ['0 passed'])
    }
  })
})

describe('row 26 while nothing is deep enough', () => {
  test('requests no count', async () => {
    const lane = laneOn({ 2: [foreign(0)] }, [0], { patienceMs: 0, lossDepth: 50 })
    script(lane, 0, noBodies)
    expect(await reported(lane, usageOn(lane), 1)).toEqual([])
    expect(lane.emitted).toEqual([])
  })
})

describe('a count that no body explains', () => {
  test('needs a new confirmation after a tick that counted no more than is known', async () => {
    const lane = laneOn({})
    const usage = usageOn(lane)
    await reported(lane, usage, 65, 17)
    await reported(lane, usage, 0, 17)
    await reported(lane, usage, 65, 18)
    expect(lane.holds.size).toBe(0)
    await reported(lane, usage, 65, 19)
    expect(lane.holds.size).toBe(1)
  })

  test('is believed for a freed nonce, and the bound nonces above are searched at once', async () => {
    // A CREATE, and then a transaction.
    const lane = laneOn({ 12: [null, foreign(1)] })
    lane.book.apply(0, { type: 'reserve', claim: 'a', token: 1 })
    lane.journal(1, 'b', mine(1))
    lane.book.apply(0, { type: 'withdraw', claim: 'a', why: 'failed' })
    const usage = usageOn(lane)
    expect(await reported(lane, usage, 2, 18)).toEqual([])
    await lane.clock.advance(1_000)
    expect(await reported(lane, usage, 2, 19)).toEqual(['1 evidence'])
    expect(lane.book.floor).toBe(2)
  })

  test('is not believed for the lower nonce if another tick raised it during the comparison', async () => {
    const lane = laneOn({}, [], { endpoints: 2 })
    const usage = usageOn(lane)
    script(lane, 0, claims(5))
    await reported(lane, usage, 5, 18)
    await lane.clock.advance(1_000)
    script(lane, 1, (call) => {
      if (isCount(call) && call.params[1] === 'latest') usage.count(9, 19)
      return claims(9)(call)
    })
    await reported(lane, usage, 5, 19)
    expect(lane.book.floor).toBe(0)
  })
})

describe('a jump', () => {
  const far = Array.from({ length: 100 }, (_, nonce) => foreign(nonce))

  test('lifts at once when a witness for the highest nonce explains it', async () => {
    const lane = laneOn({ 12: far })
    const usage = usageOn(lane)
    script(lane, 0, noBodies)
    await reported(lane, usage, 100, 18)
    await lane.clock.advance(1_000)
    await reported(lane, usage, 100, 19)
    expect([...lane.holds.keys()]).toEqual(['jump'])
    script(lane, 0, () => undefined)
    await lane.clock.advance(10_000)
    await reported(lane, usage, 100, 19)
    expect([lane.book.floor, lane.holds.size]).toEqual([100, 0])
  })

  test('lifts at once when bodies refute it, and needs a new confirmation', async () => {
    const lane = laneOn({ 12: [foreign(0), foreign(1)] }, [], { floor: 2 })
    const usage = usageOn(lane)
    script(lane, 0, (call) => (isBody(call) ? PRUNED : claims(100)(call)))
    await reported(lane, usage, 100, 18)
    await lane.clock.advance(1_000)
    await reported(lane, usage, 100, 19)
    expect([...lane.holds.keys()]).toEqual(['jump'])
    script(lane, 0, claims(100))
    await lane.clock.advance(10_000)
    await reported(lane, usage, 100, 19)
    expect(lane.doubts).toEqual(['the endpoint counts 100 used nonces, and the bodies of its blocks show 2'])
    expect([lane.holds.size, usage.latest]).toEqual([0, 2])
    await reported(lane, usage, 100, 19)
    expect(lane.holds.size).toBe(0)
  })

  test('is explained by one witness if the bound nonces lie above it, or were freed', async () => {
    const lane = laneOn({ 12: far }, [150])
    await reported(lane, usageOn(lane), 100)
    expect([lane.book.floor, lane.applied]).toEqual([100, []])
    const withHole = laneOn({ 12: far })
    withHole.book.apply(3, { type: 'reserve', claim: 'a', token: 1 })
    withHole.book.apply(4, { type: 'reserve', claim: 'b', token: 2 })
    withHole.book.apply(3, { type: 'withdraw', claim: 'a', why: 'failed' })
    withHole.book.apply(4, { type: 'withdraw', claim: 'b', why: 'failed' })
    await reported(withHole, usageOn(withHole), 100)
    expect([withHole.book.floor, withHole.applied]).toEqual([100, []])
  })
})

test('reads the count soon after a node says "nonce too low", and the next count answers it', () => {
  const lane = laneOn({})
  const usage = usageOn(lane)
  expect(usage.wanted).toBe(false)
  usage.investigate()
  expect([usage.wanted, lane.woken]).toEqual([true, 1])
  usage.count(0, 19)
  expect(usage.wanted).toBe(false)
})
