import { Command, Option } from 'commander'
import { badOption, readCommandLine, SEED_MAX, whole } from '../../tools/cli/shared/commandLine.js'
import type { Parsed } from '../../tools/cli/shared/program.js'
import { connectionString } from '../sweep/connectionString.js'

export type ClusterOptions = {
  readonly processes: number
  readonly keys: number
  readonly transactions: number
  /** The number of requests of the service's callers. */
  readonly requests: number
  /** Runs one of the two parts only. */
  readonly only: 'lanes' | 'service' | undefined
  readonly kills: number
  readonly stops: number
  readonly seed: number
  readonly node: 'devnet' | 'anvil'
  readonly json: boolean
  /** An existing server. By default the run starts its own. */
  readonly postgres: string | undefined
}

/** The options of the part without the service. */
export type LanesOptions = Omit<ClusterOptions, 'requests' | 'only'>

/** Reads the command line; never throws and never ends the process. */
export function parseOptions(argv: readonly string[]): Parsed<ClusterOptions> {
  return readCommandLine(createCommand(), argv, ({ postgres, only, ...rest }: ClusterOptions) => {
    if (rest.processes < 2 && rest.kills + rest.stops > 0)
      throw badOption(
        '--kills and --stops need --processes 2 or more: another process has to take over the lanes.',
      )
    return { ...rest, only, postgres }
  })
}

function createCommand(): Command {
  return new Command('npm run cluster --')
    .description(
      'Sends from several processes over one PostgreSQL, with the same keys in all of them, while processes are ' +
        'killed and started again, stopped for longer than a lease lasts (one of them in the middle of a request), ' +
        'and closed, and the database is restarted. Then reads from the blocks whether everything happened exactly ' +
        'once and as reported. After that it does the same to examples/relayer over HTTP, on a stock geth if there ' +
        'is one, with callers that retry, a hostile one, keys that change and webhooks. Exit code 0 if all of ' +
        'it held, 1 when not, 2 for bad options.',
    )
    .addOption(
      new Option('--only <part>', 'lanes: senders without the service; service: the service alone').choices([
        'lanes',
        'service',
      ]),
    )
    .addOption(new Option('--processes <n>', 'on one store').default(4).argParser(whole(1, 16)))
    .addOption(
      new Option('--keys <n>', 'a lane for each, in all processes').default(3).argParser(whole(1, 10)),
    )
    .addOption(
      new Option('--transactions <n>', 'of the lanes, all together')
        .default(10_000)
        .argParser(whole(1, 1_000_000)),
    )
    .addOption(
      new Option('--requests <n>', 'of the callers of the service, all together')
        .default(10_000)
        .argParser(whole(4, 1_000_000)),
    )
    .addOption(new Option('--kills <n>', 'with SIGKILL').default(6).argParser(whole(0, 1_000)))
    .addOption(
      new Option('--stops <n>', 'with SIGSTOP, for longer than a lease; the first in the middle of a request')
        .default(4)
        .argParser(whole(0, 1_000)),
    )
    .addOption(new Option('--seed <n>', 'seed of work and faults').default(1).argParser(whole(0, SEED_MAX)))
    .addOption(
      new Option(
        '--node <kind>',
        'of the lanes. anvil: without the pre-confirmations and the gateway of the devnet',
      )
        .choices(['devnet', 'anvil'])
        .default('devnet'),
    )
    .option('--json', 'a line of JSON for each part on standard output in place of the report', false)
    .addOption(
      new Option(
        '--postgres <url>',
        'use this server, in a schema that is dropped again, and do not restart it (default: one is started)',
      ).argParser(connectionString),
    )
}
