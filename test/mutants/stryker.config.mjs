// `npm run mutants` changes the code in one place, runs the tests that reach it, and lists each change that
// no test notices. It takes hours for all parts; `npm run mutants -- --mutate 'src/delivery/count.ts'` takes
// minutes for one.
const parts = [
  'src/ledger/**/*.ts',
  'src/delivery/**/*.ts',
  'src/tracker/evidence*.ts',
  // The classifier of a node's answers to a raw transaction.
  'src/rpc/{batchAnswer,classify,explicitRefusal,intrinsicRules,matchMessage,messageWords,outcome,priceHints,statements,wrongChain}.ts',
]

export default {
  testRunner: 'vitest',
  vitest: { configFile: 'test/mutants/vitest.config.ts' },
  plugins: ['@stryker-mutator/vitest-runner'],
  mutate: [...parts, '!src/**/*.test.ts', '!src/**/*.fixture.ts'],
  coverageAnalysis: 'perTest',
  concurrency: 2,
  // Once instrumented, the tests of all parts take minutes, more on a busy machine.
  dryRunTimeoutMinutes: 20,
  reporters: ['clear-text', 'progress-append-only', 'json'],
  jsonReporter: { fileName: 'test/mutants/results.json' },
  clearTextReporter: { allowColor: false, logTests: false, reportTests: false },
  tempDirName: 'test/mutants/.work',
  thresholds: { high: 95, low: 90, break: 90 },
  checkers: [],
  disableTypeChecks: true,
}
