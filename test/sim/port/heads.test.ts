import { describe, expect, test } from 'vitest'
import { call, type NotificationListener } from '../../../src/rpc/port.js'
import { createChain } from '../chain/chain.js'
import { createRandom } from '../random.js'
import { NO_PUSH_FAULTS, type PushFaults } from '../socketPlan.js'
import { createVirtualClock } from '../virtualClock.js'
import { createHeads, type HeadsOptions, type PushEvent } from './heads.js'
import { createSimPort } from './simPort.js'
import { wireBlock } from './wire.js'

const ADDRESS = '0x00000000000000000000000000000000000000aa'
const LATENCY_MS = 10

type Head = { readonly number: string; readonly hash: string }

function setUp(faults: Partial<PushFaults> = {}, options: Partial<HeadsOptions> = {}) {
  const clock = createVirtualClock()
  const random = createRandom(5)
  const accounts = [{ address: ADDRESS, balanceWei: 10n ** 18n }] as const
  const chain = createChain({ clock, random, accounts, rules: 'geth', blockTimeMs: 1_000 })
  const events: PushEvent[] = []
  const heads = createHeads({
    clock,
    random,
    faults: { ...NO_PUSH_FAULTS, ...faults },
    head: () => chain.head,
    headerOf: (block) => wireBlock(block, false, chain.settings),
    latencyMs: () => LATENCY_MS,
    silentAfter: () => undefined,
    count: (event) => void events.push(event),
    ...options,
  })
  chain.watch(heads.shown)
  const port = createSimPort(chain, {
    clock,
    random,
    heads,
    latencyMs: { min: LATENCY_MS, max: LATENCY_MS },
  })
  const heard: { readonly id: string; readonly head: Head; readonly atMs: number }[] = []
  let closed = 0
  const listener: NotificationListener = {
    notified: (id, head) => void heard.push({ id, head: head as Head, atMs: clock.now() }),
    closed: () => void closed++,
  }
  const off = port.notifications?.listen(listener)
  async function ask(method: string, ...params: unknown[]) {
    const asked = call(port, method, params)
    await clock.advance(2 * LATENCY_MS)
    return asked
  }
  const subscribe = () => ask('eth_subscribe', 'newHeads')
  /** Makes blocks, and waits until all of their announcements have come. */
  async function grow(blocks: number) {
    for (let block = 0; block < blocks; block++) {
      chain.seal()
      await clock.advance(5_000)
    }
  }
  return {
    clock,
    chain,
    port,
    heads,
    heard,
    events,
    off,
    ask,
    subscribe,
    grow,
    numbers: () => heard.map(({ head }) => Number(head.number)),
    get closed() {
      return closed
    },
  }
}

describe('the announced heads of a simulated endpoint', () => {
  test('come one way after each block, once subscribed, and with the id of the subscription', async () => {
    const world = setUp()
    await world.grow(1)
    const reply = await world.subscribe()
    const sealedMs = world.clock.now()
    await world.grow(2)
    expect(world.numbers()).toEqual([2, 3])
    expect(world.heard[0]).toMatchObject({ id: reply.ok && reply.result, atMs: sealedMs + LATENCY_MS })
    expect(world.heard[1]?.head.hash).toBe(world.chain.head.hash)
    expect(world.port.kind).toBe('webSocket')
  })

  test('end with eth_unsubscribe, and for a listener that left', async () => {
    const world = setUp()
    const reply = await world.subscribe()
    expect(await world.ask('eth_unsubscribe', reply.ok && reply.result)).toEqual({ ok: true, result: true })
    await world.grow(1)
    await world.subscribe()
    world.off?.()
    await world.grow(1)
    expect(world.heard).toEqual([])
  })

  test('name each block of a new branch, in ascending order', async () => {
    const world = setUp()
    await world.subscribe()
    await world.grow(3)
    world.chain.reorg({ depth: 2 })
    await world.clock.advance(100)
    expect(world.numbers()).toEqual([1, 2, 3, 2, 3])
    expect(new Set(world.heard.map(({ head }) => head.hash)).size).toBe(5)
    expect(world.events).toContain('reorganised head')
  })

  test.each([
    ['skipped', 'skipped head', 0],
    ['late', 'late head', 4],
  ] as const)('with the fault %s: %s', async (fault, event, count) => {
    const world = setUp({ [fault]: 1 })
    await world.subscribe()
    await world.grow(4)
    expect(world.heard).toHaveLength(count)
    expect(world.events).toContain(event)
  })

  test('late ones come later than a poll, and in order', async () => {
    const world = setUp({ late: 1 })
    await world.subscribe()
    const sealedMs = world.clock.now()
    for (let block = 0; block < 5; block++) world.chain.seal()
    await world.clock.advance(10_000)
    expect(world.numbers()).toEqual([1, 2, 3, 4, 5])
    expect(world.heard[0]?.atMs).toBeGreaterThan(sealedMs + 50)
  })

  test('repeated ones come again, and invented ones are on no branch', async () => {
    const repeated = setUp({ repeated: 1 })
    await repeated.subscribe()
    await repeated.grow(1)
    expect(repeated.heard.length).toBeGreaterThan(1)
    expect(new Set(repeated.heard.map(({ head }) => head.hash)).size).toBe(1)
    const invented = setUp({ invented: 1 })
    await invented.subscribe()
    await invented.grow(1)
    const [real, other] = invented.heard
    expect(real?.head.hash).toBe(invented.chain.head.hash)
    expect(await invented.ask('eth_getBlockByHash', other?.head.hash, false)).toEqual({
      ok: true,
      result: null,
    })
  })

  test('a refused subscription is an error, and a silent one ends without a word', async () => {
    const refused = setUp({ refused: 1 })
    expect(await refused.subscribe()).toMatchObject({ failure: { kind: 'rpc' } })
    const silent = setUp({}, { silentAfter: () => 2 })
    await silent.subscribe()
    await silent.grow(4)
    expect(silent.numbers()).toEqual([1, 2])
    expect(silent.closed).toBe(0)
  })

  test('a closed socket ends its subscriptions and its open requests, and comes back', async () => {
    const world = setUp()
    await world.subscribe()
    const open = call(world.port, 'eth_blockNumber', [])
    world.heads.drop(1_000)
    expect(await open).toMatchObject({ failure: { kind: 'network' } })
    expect(world.closed).toBe(1)
    await world.clock.advance(100)
    expect(await world.subscribe()).toMatchObject({ failure: { kind: 'network' } })
    await world.clock.advance(1_000)
    world.chain.seal()
    await world.clock.advance(100)
    expect(world.heard).toEqual([])
    expect(await world.subscribe()).toMatchObject({ ok: true })
    await world.grow(1)
    expect(world.numbers()).toEqual([2])
  })
})
