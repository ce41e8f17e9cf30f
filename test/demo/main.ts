import { colors } from '../../tools/cli/shared/output.js'
import { answer, EXIT, endWith, write } from '../../tools/cli/shared/program.js'
import { createProgress } from '../../tools/cli/shared/progress.js'
import { endAfter } from '../support/endAfter.js'
import { type DemoOptions, parseOptions } from './options.js'
import { renderReport } from './result.js'
import { burstTimeMs, runDemo } from './run.js'

// Time for start, deployment, settling and check, in addition to the burst.
const REST_MS = 180_000

async function run(options: DemoOptions): Promise<number> {
  const progress = createProgress(process.stderr)
  if (options.target.kind === 'node' && options.target.faultsIgnored) {
    progress.say('--faults has no effect with --rpc: faults are injected by the devnet only.')
  }
  const result = await runDemo(options, progress)
  if (options.json) await write(`${JSON.stringify(result)}\n`)
  else await write(renderReport(result, colors()))
  return result.ok ? EXIT.held : EXIT.failed
}

const parsed = parseOptions(process.argv.slice(2), process.env)
endAfter(parsed.kind === 'run' ? burstTimeMs(parsed.options.count) + REST_MS : REST_MS)
endWith(answer(parsed, 'npm run demo --', run), 'The run', 'message')
