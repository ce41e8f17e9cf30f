import { defineConfig } from 'vitest/config'

// The unit tests of the parts that are changed, and no others: each change is run against those that reach it.
export default defineConfig({
  test: {
    isolate: false,
    testTimeout: 60_000,
    include: ['src/{ledger,delivery,rpc,tracker}/**/*.test.ts'],
    setupFiles: ['test/support/everyError.ts'],
  },
})
