import { createColors } from 'picocolors'
import { systemClock } from '../../src/clock.js'
import { redactText } from '../../src/errors/redact.js'
import { type PeersOptions, parseOptions } from './options.js'
import { resultOf } from './result.js'
import { runAll } from './runner.js'
import { scenarios } from './scenarios/index.js'
import { subjects } from './subjects/index.js'
import { renderTable } from './table.js'

const EXIT = { held: 0, failed: 1, badOptions: 2 } as const
const LIMIT_MS = 300_000

async function main(): Promise<number> {
  const parsed = parseOptions(process.argv.slice(2), {
    scenarios: scenarios.map(({ name }) => name),
    senders: subjects.map(({ name }) => name),
  })
  switch (parsed.kind) {
    case 'help':
      process.stdout.write(parsed.text)
      return EXIT.held
    case 'bad':
      process.stderr.write(`${parsed.message}\nSee npm run peers -- --help\n`)
      return EXIT.badOptions
    case 'run':
      return run(parsed.options)
    default:
      return parsed satisfies never
  }
}

async function run({ only, senders, json, forkUrl }: PeersOptions): Promise<number> {
  const report = await runAll({
    scenarios: chosen(scenarios, only),
    subjects: chosen(subjects, senders),
    forkUrl,
    onOutcome: showProgress,
  })
  const result = resultOf(report, chosen(subjects, senders))
  await write(json ? `${JSON.stringify(result)}\n` : renderTable(result, createColors(wantsColors())))
  return result.ok ? EXIT.held : EXIT.failed
}

function chosen<t extends { readonly name: string }>(
  all: readonly t[],
  names: readonly string[],
): readonly t[] {
  return names.length === 0 ? all : all.filter(({ name }) => names.includes(name))
}

function showProgress(done: number, all: number): void {
  if (process.stderr.isTTY) process.stderr.write(done < all ? `\r${done} of ${all} runs` : '\r\u001b[K')
}

function wantsColors(): boolean {
  return !process.env.NO_COLOR && process.stdout.isTTY === true && process.env.TERM !== 'dumb'
}

/** Resolves once the pipe has it: ending the process earlier would cut the text. */
function write(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(text, (error) => (error ? reject(error) : resolve()))
  })
}

systemClock.setTimer(() => {
  process.stderr.write(`The run is stuck: no end after ${LIMIT_MS / 1_000} s.\n`)
  process.exit(EXIT.failed)
}, LIMIT_MS)

// Some of the libraries keep timers and channels open for good, so the process is ended.
main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    const message = error instanceof Error ? (error.stack ?? error.message) : String(error)
    process.stderr.write(`The run failed: ${redactText(message)}\n`)
    process.exit(EXIT.failed)
  },
)
