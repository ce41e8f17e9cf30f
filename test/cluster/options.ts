import { Command, Option } from 'commander'
import { badOption, readCommandLine, SEED_MAX, whole } from '../../src/cli/commandLine.js'
import type { Parsed } from '../../src/cli/program.js'
import { connectionString } from '../sweep/connectionString.js'

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

/** Reads the command line; never throws and never ends the process. */
export function parseOptions(argv: readonly string[]): Parsed<ClusterOptions> {
  return readCommandLine(createCommand(), argv, ({ postgres, ...rest }: ClusterOptions) => {
    if (rest.processes < 2 && rest.kills + rest.stops > 0)
      throw badOption('--kills and --stops need --processes 2 or more: somebody has to take the lanes over.')
    return { ...rest, postgres }
  })
}

function createCommand(): Command {
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
}
