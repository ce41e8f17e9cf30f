import { defineConfig } from 'vitest/config'

// One project a kind of test, so that `vitest run --project unit` stays quick while one works on the pure parts.
const shared = { globals: false, dangerouslyIgnoreUnhandledErrors: false }

export default defineConfig({
  test: {
    projects: [
      { test: { ...shared, name: 'unit', include: ['src/**/*.test.ts', 'test/{model,race,house,types}/**/*.test.ts'] } },
      { test: { ...shared, name: 'sim', include: ['test/sim/**/*.test.ts'], testTimeout: 300_000 } },
      {
        test: {
          ...shared,
          name: 'integration',
          include: ['test/{contract,integration,package,peers,crash}/**/*.test.ts'],
          testTimeout: 120_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
})
