import { describe, expect, test } from 'vitest'
import { createNaiveSubject } from './naiveSubject.js'
import { drawPlan } from './plan.js'
import { POOL_OPTIONS } from './poolOptions.js'
import { TIMED_NAMES } from './port/timedFault.js'
import { runWorld } from './world.js'

const SEEDS = Array.from({ length: 30 }, (_, index) => index + 1)
// Seeds with a gap that is never filled, which is rarer than other failures.
const HARD_SEEDS = Array.from({ length: 120 }, (_, index) => index + 1)
const SHORT = { healMs: 60_000 }

describe('a world', () => {
  test('follows from its seed alone, down to the last timer', async () => {
    const first = await runWorld(7, createNaiveSubject, SHORT)
    const second = await runWorld(7, createNaiveSubject, SHORT)
    expect(second).toEqual(first)
    expect(drawPlan(8)).not.toEqual(drawPlan(7))
  })

  test('is fair: without faults a naive sender keeps every promise', async () => {
    for (const seed of SEEDS) {
      const { violations } = await runWorld(seed, createNaiveSubject, { ...SHORT, calm: true })
      // It keeps no journal, so it cannot keep P6; and it does not wait for predecessors.
      const broken = violations.filter(({ promise }) => promise !== 'P6' && promise !== 'after')
      expect(broken, `seed ${seed}`).toEqual([])
    }
  })

  test('is hard: with faults a naive sender breaks promises', async () => {
    const broken = new Set<string>()
    for (const seed of HARD_SEEDS) {
      const { violations } = await runWorld(seed, createNaiveSubject, SHORT)
      for (const { promise } of violations) broken.add(promise)
    }
    expect([...broken].sort()).toEqual(expect.arrayContaining(['P3', 'P4', 'P5', 'P6', 'P8']))
  })

  test('has every rule, fault and disturbance in some seed', () => {
    const plans = Array.from({ length: 300 }, (_, seed) => drawPlan(seed))
    const kinds = new Set(plans.flatMap((plan) => plan.disturbances.map(({ kind }) => kind)))
    expect(kinds.size).toBe(19)
    expect(new Set(plans.map(({ rules }) => rules)).size).toBe(4)
    const faults = plans.flatMap((plan) => plan.ports.flatMap((port) => Object.entries(port.faults)))
    expect(new Set(faults.filter(([, rate]) => rate > 0).map(([name]) => name)).size).toBe(16)
    const timed = plans.flatMap((plan) => plan.ports.flatMap((port) => port.timed.map(({ name }) => name)))
    expect(new Set(timed)).toEqual(new Set(TIMED_NAMES))
    expect(new Set(plans.flatMap(({ pool }) => Object.keys(pool)))).toEqual(new Set(POOL_OPTIONS))
  })
})
