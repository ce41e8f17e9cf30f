import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { built } from '../support/built.js'

const { runPoolWorld } = await built<typeof import('./worlds.js')>(new URL('worlds.ts', import.meta.url))

// The seeds are fixed, so that a failing run fails everywhere. Others: `npm run sim -- --pools --runs N
// --seed S`.
const RUNS = 200
const RUNS_A_TEST = 100

const { stackTraceLimit } = Error
let handed = 0

beforeAll(() => {
  Error.stackTraceLimit = 0
})
afterAll(() => {
  Error.stackTraceLimit = stackTraceLimit
})

describe('pools whose keys run out of funds, in processes that are killed and stopped', () => {
  for (let first = 1; first < RUNS; first += RUNS_A_TEST) {
    const last = first + RUNS_A_TEST - 1
    test(`P3, P4, P5 and P8 hold once the world heals, for the seeds ${first} to ${last}`, async () => {
      for (let seed = first; seed <= last; seed++) {
        const result = await runPoolWorld(seed)
        expect(result.violations, `replay: npm run sim -- --pools --runs 1 --seed ${seed}`).toEqual([])
        handed += result.handed
      }
    })
  }

  test('many transactions moved to another lane', () => {
    expect(handed).toBeGreaterThan(2 * RUNS)
  })
})
