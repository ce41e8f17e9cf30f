import { createColors } from 'picocolors'
import { systemClock } from '../../clock.js'
import { redactText } from '../../errors/redact.js'
import { type DemoOptions, parseOptions } from './options.js'
import { createProgress } from './progress.js'
import { renderReport } from './report.js'
import { burstTimeMs, runDemo } from './run.js'

const EXIT = { held: 0, failed: 1, badOptions: 2 } as const
// For starting, deploying, settling and the check, on top of the burst's own time.
const REST_MS = 180_000

async function main(): Promise<number> {
  const parsed = parseOptions(process.argv.slice(2), process.env)
  switch (parsed.kind) {
    case 'help':
      process.stdout.write(parsed.text)
      return EXIT.held
    case 'bad':
      process.stderr.write(`${parsed.message}\nSee npm run demo -- --help\n`)
      return EXIT.badOptions
    case 'run':
      return run(parsed.options)
    default:
      return parsed satisfies never
  }
}

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

/** Resolves once the pipe has it: ending the process earlier would cut the text. */
function write(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(text, (error) => (error ? reject(error) : resolve()))
  })
}

function limitTime(): void {
  const parsed = parseOptions(process.argv.slice(2), process.env)
  const timeMs = parsed.kind === 'run' ? burstTimeMs(parsed.options.count) + REST_MS : REST_MS
  systemClock.setTimer(() => {
    process.stderr.write(`The run is stuck: no end after ${Math.round(timeMs / 1_000)} s.\n`)
    process.exit(EXIT.failed)
  }, timeMs)
}

limitTime()
main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    process.stderr.write(
      `The run failed: ${redactText(error instanceof Error ? error.message : String(error))}\n`,
    )
    process.exit(EXIT.failed)
  },
)
