import fc from 'fast-check'
import { runsOf } from '../support/runsOf.js'

// Fixed, so that runs are reproducible. TXLANE_SEED and TXLANE_RUNS search elsewhere, and longer.
const SEED = 20_261_121

/**
 * Runs the property with the seed and the number of runs from the environment. A failure prints how to
 * replay it.
 */
export function race<Ts>(property: fc.IAsyncPropertyWithHooks<Ts>, options: { runs: number }): Promise<void> {
  const { TXLANE_SEED: seed, TXLANE_PATH: path } = process.env
  return Promise.resolve(
    fc.assert(property, {
      seed: seed === undefined ? SEED : Number(seed),
      numRuns: runsOf(options.runs),
      ...(path === undefined ? {} : { path }),
    }),
  )
}
