// `npm run mutants`: changes the code in one place, runs the tests that reach it, and lists each undetected change.
// Takes hours for all parts. `TXLANE_MUTANTS=delivery npm run mutants` runs one part;
// `npm run mutants -- --mutate src/delivery/count.ts` takes minutes for one file.
const PARTS = {
  ledger: ['src/ledger/**/*.ts'],
  delivery: ['src/delivery/**/*.ts'],
  evidence: ['src/chain/blocks/{nonceEvidence,evidence*}.ts'],
  // The classifier of a node's answers to a raw transaction.
  classifier: [
    'src/rpc/{batchAnswer,classify,explicitRefusal,intrinsicRules,matchMessage,outcome,priceHints,statements}.ts',
  ],
}
const { TXLANE_MUTANTS } = process.env
const parts = TXLANE_MUTANTS === undefined ? Object.values(PARTS).flat() : PARTS[TXLANE_MUTANTS]
if (parts === undefined) throw new Error(`TXLANE_MUTANTS is none of ${Object.keys(PARTS).join(', ')}.`)

export default {
  testRunner: 'vitest',
  vitest: { configFile: 'test/mutants/vitest.config.ts' },
  plugins: ['@stryker-mutator/vitest-runner'],
  mutate: [...parts, '!src/**/*.test.ts', '!src/**/*.fixture.ts'],
  coverageAnalysis: 'perTest',
  concurrency: 2,
  // The instrumented tests of all parts take minutes, and longer on a busy machine.
  dryRunTimeoutMinutes: 20,
  reporters: ['clear-text', 'progress-append-only', 'json'],
  jsonReporter: { fileName: 'test/mutants/results.json' },
  clearTextReporter: { allowColor: false, logTests: false, reportTests: false },
  tempDirName: 'test/mutants/.work',
  thresholds: { high: 95, low: 90, break: 90 },
  checkers: [],
  disableTypeChecks: true,
}
