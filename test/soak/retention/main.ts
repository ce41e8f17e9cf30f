import { Command, InvalidArgumentError, Option } from 'commander'
import { type RetentionOptions, renderRetention, runRetention } from './run.js'

type Given = RetentionOptions & { readonly json: boolean }

const { json, ...options } = new Command('npm run soak:retention --')
  .description(
    'Drives one lane through many transactions on a node that keeps nothing, as fast as possible, and samples the data ' +
      'that the store and the process keep about them. Exit code 0 if all executed once, and heap, file and rows stayed ' +
      'flat, 1 if not.',
  )
  .addOption(
    new Option('--transactions <n>', 'how many').default(1_000_000).argParser(whole(1_000, 100_000_000)),
  )
  .addOption(
    new Option('--store <kind>', 'the store of the transactions')
      .default('sqlite')
      .choices(['sqlite', 'memory']),
  )
  .addOption(
    new Option('--ended-max <n>', 'number of ended transactions to keep: older ones are made to expire')
      .default(1_000)
      .argParser(whole(1, 1e9)),
  )
  .addOption(
    new Option(
      '--finality-minutes <n>',
      'virtual time: a block is final after this many minutes, and holds 50 transactions each 200 ms',
    ).argParser(whole(1, 600)),
  )
  .option('--json', 'one JSON object on standard output in place of the summary', false)
  .allowExcessArguments(false)
  .parse()
  .opts<Given>()

const stop = new AbortController()
// The first signal ends the load, and the sent transactions are judged; the second ends the process.
process.once('SIGINT', () => stop.abort())

runRetention(options, (line) => process.stderr.write(`${line}\n`), stop.signal).then(
  (result) => {
    process.stdout.write(json ? `${JSON.stringify(result)}\n` : renderRetention(result))
    process.exitCode = result.ok ? 0 : 1
  },
  (error: unknown) => {
    process.stderr.write(`It failed: ${error instanceof Error ? error.stack : String(error)}\n`)
    process.exit(1)
  },
)

function whole(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (!Number.isSafeInteger(value) || value < min || value > max)
      throw new InvalidArgumentError(`Expected a whole number from ${min} to ${max}.`)
    return value
  }
}
