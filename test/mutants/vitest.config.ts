import { defineConfig } from 'vitest/config'
import NearestFirst from './sequencer.js'

// Runs only the unit tests of the mutated parts; each change is run against the tests that reach it.
export default defineConfig({
  test: {
    isolate: false,
    sequence: { sequencer: NearestFirst },
    testTimeout: 60_000,
    // Few runs, so that a change which only a long property search finds counts as unnoticed by its own
    // tests.
    env: { TXLANE_RUNS: '20' },
    include: ['src/{ledger,delivery,rpc,chain}/**/*.test.ts'],
    setupFiles: ['test/support/everyError.ts'],
  },
})
