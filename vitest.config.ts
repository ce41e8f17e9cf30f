import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

function support(file: string): string {
  return fileURLToPath(new URL(`test/support/${file}`, import.meta.url))
}

// In every project: no error of a test may carry a credential.
const setupFiles = [support('everyError.ts')]

// One project per kind of test, so that `vitest run --project unit` stays fast while one works on the pure
// parts.
export default defineConfig({
  test: {
    // An unhandled rejection anywhere fails the run, even if every test passes.
    dangerouslyIgnoreUnhandledErrors: false,
    // Test files share a process (`isolate: false` below), because loading viem for each file took half of
    // the time. So a test must not leave anything behind. The tests must run on two cores. Tests that compute
    // use both of them.
    maxWorkers: 2,
    projects: [
      {
        test: {
          name: 'unit',
          isolate: false,
          // Generous, because the machines are shared: a hanging test still ends.
          testTimeout: 60_000,
          setupFiles,
          include: [
            '{src,tools}/**/*.test.ts',
            'test/{model,race,house,prose,types,soak,sweep,bench,geth,demo,answers}/**/*.test.ts',
          ],
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
        // Runs after the other projects, because it starts nodes in real time; in parallel, because its tests
        // mostly wait for blocks.
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
