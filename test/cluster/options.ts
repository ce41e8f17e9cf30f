import { Command, CommanderError, InvalidArgumentError, Option } from 'commander'
import type { Parsed } from '../../src/cli/program.js'
import { redactText } from '../../src/errors/redact.js'

export type ClusterOptions = {
  readonly processes: number
  readonly keys: number
  readonly transactions: number
  readonly kills: number
  readonly stops: number
  readonly seed: number
  readonly node: 'devnet' | 'anvil'
  readonly json: boolean
  /** A server to use in place of one that is started for the run. */
  readonly postgres: string | undefined
}

const SEED_MAX = 2 ** 31 - 1

/** Reads the command line; never throws and never ends the process. */
export function parseOptions(argv: readonly string[]): Parsed<ClusterOptions> {
  let help = ''
  const command = createCommand((text) => {
    help += text
  })
  try {
    command.parse(argv as string[], { from: 'user' })
    const { postgres, ...rest } = command.opts<ClusterOptions>()
    if (rest.processes < 2 && rest.kills + rest.stops > 0)
      throw bad('--kills and --stops need --processes 2 or more: somebody has to take the lanes over.')
    return { kind: 'run', options: { ...rest, postgres } }
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    if (error.code === 'commander.helpDisplayed') return { kind: 'help', text: help }
    return { kind: 'bad', message: redactText(error.message.replace(/^error: /, '')) }
  }
}

function createCommand(writeOut: (text: string) => void): Command {
  return new Command('npm run cluster --')
    .description(
      'Sends from several processes over one PostgreSQL, with the same keys in all of them, while processes are ' +
        'killed and started again, stopped for longer than a lease lasts (one of them in the middle of a request), ' +
        'and closed, and the database is restarted. Then reads from the blocks whether everything happened exactly ' +
        'once and as it was told. Exit code 0 when it did, 1 when not, 2 for bad options.',
    )
    .addOption(new Option('--processes <n>', 'on one store').default(4).argParser(whole(1, 16)))
    .addOption(
      new Option('--keys <n>', 'a lane for each, in all processes').default(3).argParser(whole(1, 10)),
    )
    .addOption(
      new Option('--transactions <n>', 'all together').default(10_000).argParser(whole(1, 1_000_000)),
    )
    .addOption(new Option('--kills <n>', 'with SIGKILL').default(6).argParser(whole(0, 1_000)))
    .addOption(
      new Option('--stops <n>', 'with SIGSTOP, for longer than a lease; the first in the middle of a request')
        .default(4)
        .argParser(whole(0, 1_000)),
    )
    .addOption(
      new Option('--seed <n>', 'what work and faults are drawn from')
        .default(1)
        .argParser(whole(0, SEED_MAX)),
    )
    .addOption(
      new Option('--node <kind>', 'anvil: without the pre-confirmations and the gateway of the devnet')
        .choices(['devnet', 'anvil'])
        .default('devnet'),
    )
    .option('--json', 'one JSON object on standard output in place of the report', false)
    .addOption(
      new Option(
        '--postgres <url>',
        'use this server, in a schema that is dropped again, and do not restart it (default: one is started)',
      ).argParser(connectionString),
    )
    .allowExcessArguments(false)
    .exitOverride()
    .configureOutput({ writeOut, writeErr: () => undefined })
}

function whole(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (!/^\d+$/.test(text) || value < min || value > max)
      throw new InvalidArgumentError(`Expected a whole number from ${min} to ${max}.`)
    return value
  }
}

function connectionString(text: string): string {
  if (!/^postgres(?:ql)?:\/\//.test(text) || !URL.canParse(text))
    throw bad('--postgres expects postgres://user:password@host:port/database.')
  return text
}

function bad(message: string): CommanderError {
  return new CommanderError(2, 'cluster.badOption', message)
}
