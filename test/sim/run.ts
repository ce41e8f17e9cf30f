import { parseArgs } from 'node:util'
import { createNaiveSubject } from './naiveSubject.js'
import type { Violation } from './oracle.js'
import { createSubject } from './subject.js'
import { createTrace } from './trace.js'
import { runWorld, type WorldResult } from './world.js'

// tsx test/sim/run.ts --runs 1000 --seed 1 [--calm] [--naive] [--all] [--transactions N] [--trace [--reads]] [--json]
const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '200' },
    seed: { type: 'string', default: '1' },
    /** Without faults. */
    calm: { type: 'boolean', default: false },
    /** The naive sender instead of the one under test. */
    naive: { type: 'boolean', default: false },
    /** Goes on after the first failing seed. */
    all: { type: 'boolean', default: false },
    transactions: { type: 'string' },
    /** Prints what happened: everything that was sent, sealed and told; with --reads the reads too. */
    trace: { type: 'boolean', default: false },
    reads: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
})

const FAILURES_SHOWN = 10

type Failure = { readonly seed: number; readonly violations: readonly Violation[] }

async function main(): Promise<void> {
  const first = Number(values.seed)
  const count = Number(values.runs)
  const failures: Failure[] = []
  const stray = collectStrayRejections()
  const began = performance.now()
  let runs = 0
  let transactions = 0
  let slowestHealMs = 0
  for (let seed = first; seed < first + count; seed++) {
    const result = await runOne(seed)
    // One turn of the event loop: what nobody handled is reported between two worlds, so it belongs to this one.
    await new Promise((resolve) => setImmediate(resolve))
    const violations = [...result.violations, ...stray.take()]
    runs++
    transactions += result.transactions
    slowestHealMs = Math.max(slowestHealMs, result.healedInMs)
    if (violations.length > 0) failures.push({ seed, violations })
    if (violations.length > 0 && !values.all) break
  }
  const seconds = (performance.now() - began) / 1_000
  report({
    runs,
    transactions,
    slowestHealMs,
    runsPerSecond: Math.round((runs / seconds) * 10) / 10,
    failures,
  })
  process.exitCode = failures.length === 0 ? 0 : 1
}

function runOne(seed: number): Promise<Pick<WorldResult, 'violations' | 'transactions' | 'healedInMs'>> {
  const size = values.transactions === undefined ? undefined : Number(values.transactions)
  const trace = values.trace ? createTrace({ reads: values.reads }) : undefined
  return runWorld(seed, values.naive ? createNaiveSubject : createSubject, {
    calm: values.calm,
    ...trace,
    ...(size === undefined ? {} : { transactions: { min: size, max: size } }),
  })
    .finally(() => {
      for (const line of trace?.lines() ?? []) console.log(line)
    })
    .catch((error: unknown) => ({
      violations: [{ promise: 'P8', text: `the run threw: ${error instanceof Error ? error.stack : error}` }],
      transactions: 0,
      healedInMs: 0,
    }))
}

function collectStrayRejections(): { take(): Violation[] } {
  let found: Violation[] = []
  process.on('unhandledRejection', (reason) => {
    const text = reason instanceof Error ? reason.stack : String(reason)
    found.push({ promise: 'P8', text: `unhandled rejection: ${text}` })
  })
  return {
    take() {
      const taken = found
      found = []
      return taken
    },
  }
}

type Report = {
  readonly runs: number
  readonly transactions: number
  readonly slowestHealMs: number
  readonly runsPerSecond: number
  readonly failures: readonly Failure[]
}

function report({ failures, ...totals }: Report): void {
  const violations = failures.reduce((sum, failure) => sum + failure.violations.length, 0)
  const flags = `${values.calm ? ' --calm' : ''}${values.naive ? ' --naive' : ''}${
    values.transactions === undefined ? '' : ` --transactions ${values.transactions}`
  }`
  const replay = failures[0] && `npx tsx test/sim/run.ts --seed ${failures[0].seed} --runs 1${flags}`
  if (values.json) {
    console.log(
      JSON.stringify({
        ...totals,
        violations,
        failingSeeds: failures.map(({ seed }) => seed),
        replay,
        failures,
      }),
    )
    return
  }
  console.log(`runs ${totals.runs}, transactions ${totals.transactions}, violations ${violations}`)
  console.log(`${totals.runsPerSecond} runs a second, slowest heal ${totals.slowestHealMs} virtual ms`)
  for (const { seed, violations: found } of failures.slice(0, FAILURES_SHOWN)) {
    console.log(`seed ${seed}:`)
    for (const { promise, marker, text } of found) {
      console.log(`  ${promise}${marker === undefined ? '' : ` transaction ${marker}`}: ${text}`)
    }
  }
  if (replay) console.log(`replay: ${replay}`)
}

await main()
