import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

function support(file: string): string {
  return fileURLToPath(new URL(`test/support/${file}`, import.meta.url))
}

// In every project: no error that a test produces may carry a credential.
const setupFiles = [support('everyError.ts')]

// One project a kind of test, so that `vitest run --project unit` stays quick while one works on the pure parts.
export default defineConfig({
  test: {
    // An unhandled rejection anywhere fails the run, even where every test passes.
    dangerouslyIgnoreUnhandledErrors: false,
    // Files share a process, `isolate: false` below: to load viem anew for each of them took half of the time. So no
    // test may leave anything behind.
    // Two cores is what the tests are promised. What computes uses both of them.
    maxWorkers: 2,
    projects: [
      {
        test: {
          name: 'unit',
          isolate: false,
          // Generous, since the machines are shared: what hangs still ends.
          testTimeout: 60_000,
          setupFiles,
          include: ['src/**/*.test.ts', 'test/{model,race,house,prose,types,soak,sweep,bench,geth}/**/*.test.ts'],
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          name: 'sim',
          isolate: false,
          setupFiles,
          include: ['test/{sim,odd}/**/*.test.ts'],
          testTimeout: 300_000,
          sequence: { groupOrder: 0 },
        },
      },
      {
        // After the others, since they run nodes in real time; side by side, since they mostly wait for their blocks.
        test: {
          name: 'integration',
          isolate: false,
          maxWorkers: 4,
          setupFiles,
          globalSetup: [support('childrenFolder.ts'), support('gethFound.ts'), support('localKmsFound.ts')],
          include: ['test/{contract,integration,kms,nodes,package,peers,crash,cluster}/**/*.test.ts'],
          testTimeout: 120_000,
          hookTimeout: 60_000,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})
