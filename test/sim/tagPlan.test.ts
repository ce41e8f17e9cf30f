import { describe, expect, test } from 'vitest'
import { CHAIN_KINDS, CHILD_MS, SLOW_KINDS } from './chainPlan.js'
import { drawPlan } from './plan.js'
import { reorgDepthNow, tagPatienceMs } from './tagPlan.js'
import { createVirtualClock } from './virtualClock.js'
import { makeChain } from './worldChain.js'

const SEEDS = Array.from({ length: 300 }, (_, seed) => seed)
const MINUTES_MS = 120_000

describe('the worlds of a kind of chain', () => {
  test('are drawn among all kinds, and the slow ones stay as they are without fast ones', () => {
    const plans = SEEDS.map((seed) => drawPlan(seed, { chains: CHAIN_KINDS }))
    expect(new Set(plans.map(({ kind }) => kind))).toEqual(new Set(CHAIN_KINDS))
    for (const plan of plans.filter(({ kind }) => kind !== 'fastBlocks'))
      expect(plan).toEqual(drawPlan(plan.seed, { chains: SLOW_KINDS }))
  })

  test.each(CHAIN_KINDS)('are of one kind if asked for: %s', (kind) => {
    for (const seed of SEEDS) expect(drawPlan(seed, { chains: [kind] }).kind).toBe(kind)
  })

  test('have tags that lag by seconds and by minutes, that are missing, and that stand still, also at one endpoint alone', () => {
    const plans = SEEDS.map((seed) => drawPlan(seed, { tags: 'time' }))
    const rules = plans.map(({ ports }) => ports.flatMap(({ tags }) => (tags ? [tags.finalized] : [])))
    const lags = rules.flat().flatMap((rule) => (rule.kind === 'moving' ? [rule.lagMs] : []))
    expect(Math.min(...lags)).toBeLessThan(20_000)
    expect(Math.max(...lags)).toBeGreaterThan(MINUTES_MS)
    const kinds = rules.map((all) => all.map((rule) => ('stuckMs' in rule ? 'stuck' : rule.kind)))
    expect(new Set(kinds.flat())).toEqual(new Set(['moving', 'stuck', 'null', 'error']))
    expect(kinds.some((all) => new Set(all).size > 1)).toBe(true)
    expect(plans.some(({ finality }) => finality !== undefined)).toBe(true)
    const waits = plans.filter(({ items }) => items.some(({ stage }) => stage === 'finalized'))
    expect(waits.some((plan) => tagPatienceMs(plan, 'finalized') === undefined)).toBe(true)
  })
})

describe('a reorg of a fast chain', () => {
  async function setUp(lossDepth: 'child' | number, lagMs: number) {
    const clock = createVirtualClock()
    const drawn = drawPlan(1, { calm: true, chains: ['fastBlocks'] })
    const tags = {
      safe: { kind: 'moving', lagMs, stepMs: 200 },
      finalized: { kind: 'moving', lagMs: 10 * lagMs, stepMs: 200 },
    } as const
    const plan = { ...drawn, lossDepth, ports: drawn.ports.map((port) => ({ ...port, tags })) }
    const chain = makeChain(plan, clock, () => {})
    chain.start()
    await clock.advance(30_000)
    return { clock, chain, plan }
  }

  test('replaces no block that has a child and the age of two seconds', async () => {
    const { clock, chain, plan } = await setUp('child', 60_000)
    const depth = reorgDepthNow(chain, plan, false)
    expect(depth).toBe(10)
    expect(clock.now() - (chain.canonical.at(-depth)?.timestampMs ?? 0)).toBeLessThan(CHILD_MS)
    chain.setHalted(true)
    await clock.advance(10_000)
    expect(reorgDepthNow(chain, plan, false)).toBe(1)
  })

  test('replaces no block that an endpoint shows as safe; beyond the promises none that is final', async () => {
    const { chain, plan } = await setUp(12, 1_000)
    expect(reorgDepthNow(chain, plan, false)).toBe(5)
    expect(reorgDepthNow(chain, plan, true)).toBe(50)
  })
})
