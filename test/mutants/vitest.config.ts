import { defineConfig } from 'vitest/config'
import NearestFirst from './sequencer.js'

// The unit tests of the parts that are changed, and no others: each change is run against those that reach it.
export default defineConfig({
  test: {
    isolate: false,
    sequence: { sequencer: NearestFirst },
    testTimeout: 60_000,
    // A change that only a long search finds is one that no test of its place notices.
    env: { TXLANE_RUNS: '20' },
    include: ['src/{ledger,delivery,rpc,chain}/**/*.test.ts'],
    setupFiles: ['test/support/everyError.ts'],
  },
})
