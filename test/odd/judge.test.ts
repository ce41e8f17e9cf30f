import { describe, expect, test } from 'vitest'
import { LANE } from '../sim/outside.js'
import { programRequest } from '../sim/program.js'
import { createRandom } from '../sim/random.js'
import { createStubAccount } from '../sim/stubAccount.js'
import { createVirtualClock } from '../sim/virtualClock.js'
import { CHAIN_KINDS, createOddChain } from './chainKinds.js'
import { judgeWorld, type Remains } from './judge.js'
import { drawPlan } from './plan.js'
import { createWatch } from './watch.js'
import { createWire } from './wire.js'

const MARKER = 1

/** A world with payments and no-ops at these nonces, and one block after them. */
async function remainsOf(
  { payments, noops = [] }: { readonly payments: readonly number[]; readonly noops?: readonly number[] },
  change: (remains: Remains) => Partial<Remains> = () => ({}),
): Promise<Remains> {
  const clock = createVirtualClock()
  const chain = await createOddChain({ kind: CHAIN_KINDS.reth, clock, random: createRandom(1), nonce: 0 })
  const account = createStubAccount(LANE)
  const wire = createWire(clock, () => {})
  const send = async (nonce: number, request: object) => {
    const raw = await account.signTransaction({
      chainId: chain.settings.chainId,
      nonce,
      gas: 60_000n,
      maxFeePerGas: 10n ** 9n,
      maxPriorityFeePerGas: 10n ** 6n,
      ...request,
    })
    wire.sent(raw)
    chain.submit(raw)
  }
  for (const nonce of payments) await send(nonce, programRequest({ kind: 'call', marker: MARKER }))
  for (const nonce of noops) await send(nonce, { to: LANE })
  chain.seal()
  const watch = createWatch(clock, 2_000)
  const reported = { marker: MARKER, atMs: 0, says: 'executed', how: 'wait sealed', final: false } as const
  const remains: Remains = {
    plan: { ...drawPlan(1), foreign: [], endpoints: 1 },
    chain,
    watch,
    wire,
    shown: { holds: [], holder: true, cursor: payments.length + noops.length, holes: [] } as never,
    workload: { reports: [reported], markers: new Set([MARKER]), open: new Set(), untyped: [] },
    finished: true,
    loads: [],
    kept: new Set(),
  }
  return { ...remains, ...change(remains) }
}

const rulesOf = (remains: Remains) => judgeWorld(remains).map(({ rule }) => rule)
const load = (count: number) => [{ requests: new Map([[4, count]]), calls: new Map([[4, count]]) }]

describe('the violations of a world', () => {
  test('are none if a payment ran once, as reported', async () => {
    expect(judgeWorld(await remainsOf({ payments: [0] }, () => ({ loads: load(60) })))).toEqual([])
  })

  test('a payment that ran at two nonces', async () => {
    expect(rulesOf(await remainsOf({ payments: [0, 1] }))).toEqual(['once', 'rebound'])
  })

  test('a payment that ran although its end was reported, also by an event', async () => {
    const ended = await remainsOf({ payments: [0] }, ({ watch }) => {
      watch.onEvent('cancelled', { tx: { id: 'transaction-1' } })
      return {}
    })
    expect(rulesOf(ended)).toEqual(['reported'])
  })

  test('a payment that was reported as executed and is missing', async () => {
    expect(rulesOf(await remainsOf({ payments: [] }))).toEqual(['reported'])
  })

  test('a nonce that stays empty', async () => {
    const gap = await remainsOf({ payments: [1] }, () => ({ finished: false, shown: undefined }))
    expect(rulesOf(gap)).toEqual(expect.arrayContaining(['dense', 'back']))
  })

  test('a lane whose count is above that of its account', async () => {
    const above = await remainsOf({ payments: [0] }, ({ shown }) => ({
      shown: { ...shown, cursor: 4 } as never,
    }))
    expect(rulesOf(above)).toEqual(['dense'])
  })

  test('a remaining hold', async () => {
    const held = await remainsOf({ payments: [0] }, ({ shown }) => ({
      shown: { ...shown, holds: ['jump'] } as never,
    }))
    expect(rulesOf(held)).toEqual(['back'])
  })

  test('a no-op above every sent transaction; one below is allowed', async () => {
    expect(rulesOf(await remainsOf({ payments: [0], noops: [1] }))).toEqual(['noop'])
    expect(rulesOf(await remainsOf({ payments: [1], noops: [0] }))).toEqual([])
  })

  test('more requests per second than one endpoint has to bear', async () => {
    expect(rulesOf(await remainsOf({ payments: [0] }, () => ({ loads: load(100) })))).toEqual(['load'])
  })

  test('nonces that are kept only because a node counted them', async () => {
    const kept = new Set(Array.from({ length: 2_000 }, (_, index) => index))
    expect(rulesOf(await remainsOf({ payments: [0] }, () => ({ kept })))).toEqual(['bound'])
  })

  test('unlimited events', async () => {
    const loud = await remainsOf({ payments: [0] }, ({ watch, plan }) => {
      for (let count = 0; count < 400 + 40 * (plan.items.length + 2); count++) watch.onEvent('error', {})
      return {}
    })
    expect(rulesOf(loud)).toEqual(['bound'])
  })

  test('an alarm while one of two endpoints was honest', async () => {
    const alarmed = await remainsOf({ payments: [0] }, ({ watch, plan }) => {
      watch.onEvent('foreign', { nonce: 0 })
      return { plan: { ...plan, endpoints: 2, faults: [] } }
    })
    expect(rulesOf(alarmed)).toEqual(['honest'])
  })
})
