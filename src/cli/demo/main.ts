import { createColors } from 'picocolors'
import { answer, EXIT, endAfter, endWith, write } from '../program.js'
import { type DemoOptions, parseOptions } from './options.js'
import { createProgress } from './progress.js'
import { renderReport } from './report.js'
import { burstTimeMs, runDemo } from './run.js'

// For starting, deploying, settling and the check, on top of the burst's own time.
const REST_MS = 180_000

async function run(options: DemoOptions): Promise<number> {
  const progress = createProgress(process.stderr)
  if (options.target.kind === 'node' && options.target.faultsIgnored) {
    progress.say('--faults has no effect with --rpc: faults are injected by the devnet only.')
  }
  const result = await runDemo(options, progress)
  if (options.json) await write(`${JSON.stringify(result)}\n`)
  else await write(renderReport(result, createColors(wantsColors())))
  return result.ok ? EXIT.held : EXIT.failed
}

/** picocolors by itself colours pipes under CI, and has no word on the stream that is written to. */
function wantsColors(): boolean {
  if (process.env.NO_COLOR) return false
  return Boolean(process.env.FORCE_COLOR) || (process.stdout.isTTY && process.env.TERM !== 'dumb')
}

const parsed = parseOptions(process.argv.slice(2), process.env)
endAfter(parsed.kind === 'run' ? burstTimeMs(parsed.options.count) + REST_MS : REST_MS)
endWith(answer(parsed, 'npm run demo --', run), 'The run', 'message')
