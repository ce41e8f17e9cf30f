import { Command, InvalidArgumentError, Option } from 'commander'

export type SoakOptions = {
  readonly minutes: number
  readonly seed: number
  /** Transactions per second and key. */
  readonly rate: number
  readonly json: boolean
}

/** Ends the process for `--help` and for bad options, as commander does. */
export function readOptions(argv: readonly string[]): SoakOptions {
  return new Command('npm run soak --')
    .description(
      'Sends from three keys at a steady rate, in real time and under all faults of the devnet, while it samples ' +
        'the resources of the process; then checks the sealed blocks. Exit code 0 if everything landed exactly once and heap, ' +
        'timers and sockets stayed flat, 1 if not.',
    )
    .addOption(new Option('--minutes <n>', 'how long').default(10).argParser(above(0, 24 * 60)))
    .addOption(new Option('--seed <n>', 'seed of load and faults').default(1).argParser(whole))
    .addOption(
      new Option('--rate <n>', 'transactions a second of each key').default(12).argParser(above(0, 200)),
    )
    .option('--json', 'one JSON object on standard output in place of the summary', false)
    .allowExcessArguments(false)
    .parse(argv as string[], { from: 'user' })
    .opts<SoakOptions>()
}

function above(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (text.trim() === '' || !(value > min && value <= max))
      throw new InvalidArgumentError(`Expected a number above ${min}, at most ${max}.`)
    return value
  }
}

function whole(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('Expected a whole number below 1000000000.')
  return Number(text)
}
