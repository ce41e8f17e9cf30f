import { optionsOrEnd } from '../support/optionsOrEnd.js'
import { type Coverage, createCounter } from './coverage.js'
import { unexercised } from './expected.js'
import { createNaiveSubject } from './naiveSubject.js'
import { parseOptions } from './options.js'
import type { Violation } from './oracle.js'
import { runPoolWorld } from './poolWorld.js'
import { type Shrunk, shrink } from './shrink.js'
import { createSubject } from './subject.js'
import { createTrace } from './trace.js'
import { runWorld, type WorldOptions } from './world.js'

const values = await optionsOrEnd(parseOptions(process.argv.slice(2)), 'npm run sim --')

// Errors are frequent here, and capturing their stacks costs more than everything else about them.
if (!values.trace) Error.stackTraceLimit = 0

// When interrupted, it prints the results so far.
let stopped = false
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop)

function stop(): void {
  stopped = true
}

const FAILURES_SHOWN = 10
const PROGRESS_MS = 30_000

const subject = values.naive ? createNaiveSubject : createSubject
const counter = createCounter()
const options: WorldOptions = {
  counter,
  calm: values.calm,
  deep: values.deep,
  busy: values.busy,
  ...(values.chain === undefined ? {} : { chains: [values.chain] }),
  ...(values.tags === undefined ? {} : { tags: values.tags }),
  ...(values.keep === undefined ? {} : { keep: values.keep }),
  ...(values.transactions === undefined
    ? {}
    : { transactions: { min: values.transactions, max: values.transactions } }),
}

type Failure = { readonly seed: number; readonly violations: readonly Violation[]; readonly shrunk?: Shrunk }

type Report = {
  readonly runs: number
  /** Timers fired and requests answered: moments at which the outcome could differ. */
  readonly steps: number
  readonly transactions: number
  readonly violations: number
  readonly runsPerSecond: number
  readonly slowestHealMs: number
  readonly coverage: Coverage
  /** The expected names without coverage. */
  readonly unexercised: readonly string[]
  readonly failures: readonly Failure[]
}

async function main(): Promise<void> {
  const report = await runAll(values.seed, values.runs)
  if (values.json) console.log(JSON.stringify(report))
  else print(report)
  process.exitCode = report.failures.length === 0 ? 0 : 1
}

async function runAll(first: number, count: number): Promise<Report> {
  const failures: Failure[] = []
  const stray = collectStrayRejections()
  const beganMs = performance.now()
  const totals = { runs: 0, steps: 0, transactions: 0, slowestHealMs: 0 }
  const rate = () => Math.round((totals.runs / (performance.now() - beganMs)) * 10_000) / 10
  let printedMs = beganMs
  for (let seed = first; seed < first + count; seed++) {
    const result = await runOne(seed)
    // Waits for one turn of the event loop: an unhandled rejection is reported between two worlds, so it
    // belongs to this one.
    await new Promise((resolve) => setImmediate(resolve))
    const violations = [...result.violations, ...stray.take()]
    totals.runs++
    totals.steps += result.timers + result.requests
    totals.transactions += result.transactions
    totals.slowestHealMs = Math.max(totals.slowestHealMs, result.healedInMs)
    if (violations.length > 0) failures.push({ seed, violations })
    if (violations.length > 0 && values.progress) console.error(`seed ${seed} fails`)
    if (stopped) break
    if (violations.length > 0 && !values.all) break
    if (values.progress && performance.now() - printedMs > PROGRESS_MS) {
      printedMs = performance.now()
      console.error(`${totals.runs} runs, ${rate()} a second, ${failures.length} failed`)
    }
  }
  const coverage = counter.coverage()
  return {
    ...totals,
    violations: failures.reduce((sum, failure) => sum + failure.violations.length, 0),
    runsPerSecond: rate(),
    coverage,
    unexercised: values.pools ? [] : unexercised(coverage, { deep: values.deep }),
    failures: await withSmallest(failures),
  }
}

/** Shrinks the first failing world. */
async function withSmallest(failures: readonly Failure[]): Promise<readonly Failure[]> {
  const [first, ...rest] = failures
  if (first === undefined || values.keep !== undefined || values.pools) return failures
  const shrunk = await shrink(first.seed, subject, options).catch(() => undefined)
  return shrunk === undefined ? failures : [{ ...first, shrunk }, ...rest]
}

type Outcome = Pick<
  Awaited<ReturnType<typeof runWorld>>,
  'violations' | 'transactions' | 'healedInMs' | 'timers' | 'requests'
>

function runOne(seed: number): Promise<Outcome> {
  if (values.pools) return runPoolWorld(seed)
  const trace = values.trace ? createTrace({ reads: values.reads }) : undefined
  return runWorld(seed, subject, { ...options, ...trace })
    .finally(() => {
      for (const line of trace?.lines() ?? []) console.log(line)
    })
    .catch((error: unknown) => ({
      violations: [{ promise: 'P8', text: `the run threw: ${error instanceof Error ? error.stack : error}` }],
      transactions: 0,
      healedInMs: 0,
      timers: 0,
      requests: 0,
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

function print({ failures, coverage, ...totals }: Report): void {
  const { runs, steps, transactions, violations } = totals
  console.log(`runs ${runs}, steps ${steps}, transactions ${transactions}, violations ${violations}`)
  console.log(`${totals.runsPerSecond} runs a second, slowest heal ${totals.slowestHealMs} virtual ms`)
  for (const [name, counts] of Object.entries(coverage)) {
    const all = Object.entries(counts).map(([what, count]) => `${what} ${count}`)
    console.log(`${name}: ${all.join(', ')}`)
  }
  if (totals.unexercised.length > 0) console.log(`not exercised: ${totals.unexercised.join(', ')}`)
  for (const failure of failures.slice(0, FAILURES_SHOWN)) printFailure(failure)
}

function printFailure({ seed, violations, shrunk }: Failure): void {
  console.log(`seed ${seed}:`)
  printViolations(violations)
  const replay = `npm run sim -- --runs 1 --seed ${seed}${flags()}`
  console.log(`  replay: ${replay}`)
  if (shrunk === undefined) return
  console.log('  the least of it that fails:')
  printViolations(shrunk.violations)
  console.log(`  replay: ${replay} --keep '${JSON.stringify(shrunk.keep)}'`)
}

function printViolations(violations: readonly Violation[]): void {
  for (const { promise, marker, text } of violations) {
    console.log(`  ${promise}${marker === undefined ? '' : ` transaction ${marker}`}: ${text}`)
  }
}

function flags(): string {
  const set = (['calm', 'deep', 'busy', 'naive', 'pools'] as const)
    .filter((flag) => values[flag])
    .map((flag) => ` --${flag}`)
  const size = values.transactions === undefined ? '' : ` --transactions ${values.transactions}`
  const chain = values.chain === undefined ? '' : ` --chain ${values.chain}`
  const tags = values.tags === undefined ? '' : ` --tags ${values.tags}`
  return `${set.join('')}${chain}${tags}${size}`
}

await main()
