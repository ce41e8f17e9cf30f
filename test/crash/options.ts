import { Command, Option } from 'commander'
import { badOption, readCommandLine, SEED_MAX, whole } from '../../tools/cli/shared/commandLine.js'
import type { Parsed } from '../../tools/cli/shared/program.js'
import { connectionString } from '../sweep/connectionString.js'
import { GROUP_KILLS } from './plan.js'

export type CrashOptions = {
  readonly kills: number
  /** `memory` keeps nothing: it shows that a sweep detects losses. */
  readonly store: 'sqlite' | 'postgres' | 'memory'
  readonly seed: number
  readonly json: boolean
  /** An existing server. By default the sweep starts its own. */
  readonly postgres: string | undefined
  /** Runs only this group. */
  readonly group: number | undefined
}

const KILLS = 100
const KILLS_MAX = 10_000

/** Reads the command line; never throws and never ends the process. */
export function parseOptions(argv: readonly string[]): Parsed<CrashOptions> {
  return readCommandLine(createCommand(), argv, ({ postgres, group, ...rest }: CrashOptions) => {
    if (postgres !== undefined && rest.store !== 'postgres')
      throw badOption(`--postgres is for --store postgres, and the store is ${rest.store}.`)
    const groups = Math.ceil(rest.kills / GROUP_KILLS)
    if (group !== undefined && group >= groups)
      throw badOption(`--group ${group}: ${rest.kills} kills make ${groups} groups, from 0 to ${groups - 1}.`)
    return { ...rest, postgres, group }
  })
}

function createCommand(): Command {
  return new Command('npm run crash --')
    .description(
      'Kills a sender with SIGKILL, repeatedly, at each point where it writes, sends or releases a lane and at random ' +
        'moments, restarts it on its remaining data, and then reads from the blocks whether everything happened ' +
        'exactly once and as reported. Exit code 0 if it did, 1 if not, 2 for bad options.',
    )
    .addOption(new Option('--kills <n>', 'how often').default(KILLS).argParser(whole(1, KILLS_MAX)))
    .addOption(
      new Option('--store <kind>', 'the store of the sender; memory forgets, which the sweep must detect')
        .choices(['sqlite', 'postgres', 'memory'])
        .default('sqlite'),
    )
    .addOption(new Option('--seed <n>', 'seed of work and kills').default(1).argParser(whole(0, SEED_MAX)))
    .option('--json', 'one JSON object on standard output in place of the table', false)
    .addOption(
      new Option(
        '--postgres <url>',
        'use this server, in a schema that is dropped again (default: one is started)',
      ).argParser(connectionString),
    )
    .addOption(
      new Option(
        '--group <n>',
        `run only this group of ${GROUP_KILLS} kills, as a failed sweep prints it`,
      ).argParser(whole(0, KILLS_MAX)),
    )
}
