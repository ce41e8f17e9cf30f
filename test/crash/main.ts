import { colors } from '../../tools/cli/shared/output.js'
import { answer, EXIT, endWith, write } from '../../tools/cli/shared/program.js'
import { endAfter } from '../support/endAfter.js'
import { type CrashOptions, parseOptions } from './options.js'
import { renderReport } from './result.js'
import { type Progress, runCrash } from './run.js'

// Timeouts: for starting and checking, and for each kill in addition. They are a few times the usual duration
// on a busy machine.
const REST_MS = 180_000
const KILL_MS = 60_000

async function run(options: CrashOptions): Promise<number> {
  const stop = new AbortController()
  // The first signal ends the sweep after its present group and prints the results; the second ends the
  // process.
  process.once('SIGINT', () => stop.abort())
  const result = await runCrash(options, createProgress(options), stop.signal)
  await write(options.json ? `${JSON.stringify(result)}\n` : renderReport(result, colors()))
  return result.ok ? EXIT.held : EXIT.failed
}

/** Writes to standard error: one line that is overwritten in a terminal, and one line per group elsewhere. */
function createProgress({ kills: all, seed }: CrashOptions): Progress {
  const { stderr } = process
  const live = stderr.isTTY === true
  let kills = 0
  return {
    killed(_, at) {
      kills++
      if (live) stderr.write(`\r\u001b[K${kills} of ${all} kills: ${at}`)
    },
    checked({ number, result }) {
      const problems = [...result.verdict.problems, ...result.problems]
      const { executed, transactions } = result.verdict
      const line = `group ${number}: ${kills} of ${all} kills, ${executed} of ${transactions} executed`
      stderr.write(`${live ? '\r\u001b[K' : ''}${line}, ${problems.length} problems\n`)
      for (const problem of problems) stderr.write(`  seed ${seed}: ${problem}\n`)
    },
  }
}

const parsed = parseOptions(process.argv.slice(2))
endAfter(parsed.kind === 'run' ? parsed.options.kills * KILL_MS + REST_MS : REST_MS)
endWith(answer(parsed, 'npm run crash --', run), 'The sweep', 'stack')
