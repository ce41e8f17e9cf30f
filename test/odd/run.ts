import { optionsOrEnd } from '../support/optionsOrEnd.js'
import type { OddViolation } from './judge.js'
import { parseOptions } from './options.js'
import { describe, drawPlan } from './plan.js'
import { shrink } from './shrink.js'
import { runOddWorld } from './world.js'

const values = await optionsOrEnd(parseOptions(process.argv.slice(2)), 'npm run odd --')

// Errors are frequent here, and capturing their stacks costs more than everything else about them.
if (!values.trace) Error.stackTraceLimit = 0

// When interrupted, it prints the results so far.
let stopped = false
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop)

function stop(): void {
  stopped = true
}

const PROGRESS_MS = 30_000
const TEXT_MAX = 300

const struck = new Map<string, number>()
const totals = { worlds: 0, failed: 0, payments: 0, requests: 0, slowestMs: 0 }
// By endpoint.
const asked: { requests: number; calls: number }[] = []
const broken = new Map<string, number>()

async function main(): Promise<void> {
  const stray = collectStrayRejections()
  const beganMs = performance.now()
  let printedMs = beganMs
  for (let seed = values.seed; !isOver(beganMs); seed++) {
    const violations = [...(await runOne(seed)), ...stray.take()]
    totals.worlds++
    if (violations.length > 0) await report(seed, violations)
    if (violations.length > 0 && !values.all) break
    if (values.progress && performance.now() - printedMs > PROGRESS_MS) {
      printedMs = performance.now()
      console.error(`${totals.worlds} worlds, ${totals.failed} failed`)
    }
  }
  const { worlds, failed, payments, requests } = totals
  const rate = Math.round((worlds / (performance.now() - beganMs)) * 10_000) / 10
  console.log(`worlds ${worlds}, failed ${failed}, payments ${payments}, requests ${requests}`)
  console.log(`${rate} worlds a second, slowest recovery ${totals.slowestMs} virtual ms`)
  for (const [index, of] of asked.entries())
    console.log(`e${index}: ${each(of.requests)} requests and ${each(of.calls)} calls for a payment`)
  console.log(`kinds of faults that struck: ${struck.size}`)
  if (failed > 0)
    console.log(`rules broken: ${[...broken].map(([rule, count]) => `${rule} ${count}`).join(', ')}`)
  process.exitCode = failed === 0 ? 0 : 1
}

/** The last payment of each world, which shows that the lane has recovered, counts too. */
function each(count: number): string {
  return (count / (totals.payments + totals.worlds)).toFixed(2)
}

function isOver(beganMs: number): boolean {
  if (stopped) return true
  if (values.seconds !== undefined) return performance.now() - beganMs > values.seconds * 1_000
  return totals.worlds >= (values.worlds ?? 0)
}

async function runOne(seed: number): Promise<readonly OddViolation[]> {
  const plan = drawPlan(seed, values)
  const onLine = values.trace ? { onLine: (line: string) => console.log(line) } : {}
  try {
    const result = await runOddWorld(plan, onLine)
    totals.payments += result.payments
    totals.requests += result.requests
    totals.slowestMs = Math.max(totals.slowestMs, result.recoveredInMs)
    for (const [index, { requests, calls }] of result.asked.entries()) {
      const { [index]: known = { requests: 0, calls: 0 } } = asked
      asked[index] = { requests: known.requests + requests, calls: known.calls + calls }
    }
    for (const [name, count] of result.struck) struck.set(name, (struck.get(name) ?? 0) + count)
    // Waits for one turn of the event loop: an unhandled rejection is reported between two worlds, so it
    // belongs to this one.
    await new Promise((resolve) => setImmediate(resolve))
    return result.violations
  } catch (error) {
    return [{ rule: 'back', text: `the run threw: ${error instanceof Error ? error.stack : error}` }]
  }
}

async function report(seed: number, violations: readonly OddViolation[]): Promise<void> {
  totals.failed++
  for (const rule of new Set(violations.map((one) => one.rule))) broken.set(rule, (broken.get(rule) ?? 0) + 1)
  console.log(`seed ${seed}: ${describe(drawPlan(seed, values))}`)
  print(violations)
  const replay = `npm run odd -- --worlds 1 --seed ${seed}${drawnBy()}`
  console.log(`  replay: ${replay}`)
  if (values.keep !== undefined || totals.failed > 1) return
  const { keep, violations: left } = await shrink(seed, values, violations)
  console.log(`  the least of it that fails: ${describe(drawPlan(seed, { ...values, keep }))}`)
  print(left)
  console.log(`  replay: ${replay} --keep '${JSON.stringify(keep)}'`)
}

/** The options that change the drawn worlds. */
function drawnBy(): string {
  const { fault, endpoints, honest } = values
  return [
    fault === undefined ? '' : ` --fault '${fault}'`,
    endpoints === undefined ? '' : ` --endpoints ${endpoints}`,
    honest ? ' --honest' : '',
  ].join('')
}

function print(violations: readonly OddViolation[]): void {
  for (const { rule, text } of violations) console.log(`    ${rule}: ${text.slice(0, TEXT_MAX)}`)
}

function collectStrayRejections(): { take(): OddViolation[] } {
  let found: OddViolation[] = []
  process.on('unhandledRejection', (reason) => {
    const text = reason instanceof Error ? reason.stack : String(reason)
    found.push({ rule: 'reported', text: `unhandled rejection: ${text}` })
  })
  return {
    take() {
      const taken = found
      found = []
      return taken
    },
  }
}

await main()
