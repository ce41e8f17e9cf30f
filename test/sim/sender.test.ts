import { describe, expect, test } from 'vitest'
import { createSubject } from './subject.js'
import { runWorld } from './world.js'

// The seeds are fixed, so that a red run is red for everybody. Others: `npm run sim -- --runs N --seed S`.
const FIRST_SEED = 1
const RUNS = 400
const RUNS_A_TEST = 50

describe('the real sender, in virtual time, in worlds where things go wrong', () => {
  for (let first = FIRST_SEED; first < FIRST_SEED + RUNS; first += RUNS_A_TEST) {
    const last = first + RUNS_A_TEST - 1
    test(`P3, P4, P5 and P8 hold once the world heals, for the seeds ${first} to ${last}`, async () => {
      for (let seed = first; seed <= last; seed++) {
        const { violations } = await runWorld(seed, createSubject)
        const replay = `replay: npm run sim -- --runs 1 --seed ${seed}`
        expect(violations, replay).toEqual([])
      }
    })
  }
})
