import { Command, Option } from 'commander'
import { readCommandLine, whole } from '../../tools/cli/shared/commandLine.js'
import type { Parsed } from '../../tools/cli/shared/program.js'
import { LONG_SCOPES, SCOPES } from './scopes.js'
import type { Scope } from './world.js'

export type ModelOptions = {
  readonly scopes: readonly Scope[]
  readonly budget: number | undefined
  readonly statesMax: number | undefined
  readonly json: boolean
  readonly progress: boolean
}

const ALL: Readonly<Record<string, Scope>> = { ...SCOPES, ...LONG_SCOPES }
const BUDGET_MAX = 100
const STATES_MAX = 1_000_000_000

/** Reads the command line; never throws and never ends the process. */
export function parseOptions(argv: readonly string[]): Parsed<ModelOptions> {
  type Given = Omit<ModelOptions, 'scopes'> & { readonly scope: string | undefined }
  return readCommandLine(createCommand(), argv, ({ scope, budget, statesMax, ...rest }: Given) => {
    const scopes = scope === undefined ? Object.values(SCOPES) : [ALL[scope] as Scope]
    return { ...rest, scopes, budget, statesMax }
  })
}

function createCommand(): Command {
  return new Command('npm run model --')
    .description(
      'Walks the table breadth first, from every state by everything that can happen, and holds each state against ' +
        'the promises. Exit code 0 when they hold, 1 when not, 2 for bad options.',
    )
    .addOption(
      new Option(
        '--scope <name>',
        'search only this scope (default: the scopes that each run of the tests searches)',
      ).choices(Object.keys(ALL)),
    )
    .addOption(
      new Option(
        '--budget <n>',
        'maximum of adversities in one history (default: that of the scope)',
      ).argParser(whole(0, BUDGET_MAX)),
    )
    .addOption(
      new Option('--states-max <n>', 'stop there (default: at the fixed point)').argParser(
        whole(1, STATES_MAX),
      ),
    )
    .option('--progress', 'print the progress at each depth, on standard error', false)
    .option('--json', 'a JSON object for each scope in place of the text', false)
}
