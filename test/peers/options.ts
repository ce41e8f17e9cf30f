import { Command, InvalidArgumentError, Option } from 'commander'
import { readCommandLine } from '../../tools/cli/shared/commandLine.js'
import type { Parsed } from '../../tools/cli/shared/program.js'
import type { DevnetMode } from '../../tools/devnet/index.js'
import { DEVNET_MODES } from '../../tools/devnet/options.js'

export type PeersOptions = {
  /** Names of scenarios; empty for all. */
  readonly only: readonly string[]
  /** Names of senders; empty for all. */
  readonly senders: readonly string[]
  readonly json: boolean
  readonly forkUrl: string | undefined
  /** Kind of chain of each run. */
  readonly mode: DevnetMode
}

type Raw = {
  readonly only: readonly string[]
  readonly sender: readonly string[]
  readonly json: boolean
  readonly rpc?: string
  readonly mode: DevnetMode
}

/** Reads the command line; never throws and never ends the process. */
export function parseOptions(
  argv: readonly string[],
  known: { readonly scenarios: readonly string[]; readonly senders: readonly string[] },
): Parsed<PeersOptions> {
  const command = new Command('npm run peers --')
    .description(
      'Replays bugs of other senders against txlane and against those senders that are npm packages, each time ' +
        'on a separate chain, and reads the outcome of every payment from its blocks. Exit code 0 if txlane ' +
        'fails none, 1 if it does, 2 for bad options.',
    )
    .option(
      '--only <name>',
      'run this scenario alone; may be given more than once',
      named(known.scenarios),
      [],
    )
    .option('--sender <name>', 'run this sender alone; may be given more than once', named(known.senders), [])
    .addOption(
      new Option('--mode <kind>', 'kind of chain of each run').choices(DEVNET_MODES).default('preconfirmed'),
    )
    .option('--json', 'one JSON object on standard output in place of the table', false)
    .option('--rpc <url>', 'start each chain from the state of this one (HTTP); nothing is sent there', url)
  return readCommandLine(command, argv, ({ only, sender, json, rpc, mode }: Raw) => ({
    only,
    senders: sender,
    json,
    forkUrl: rpc,
    mode,
  }))
}

function named(known: readonly string[]) {
  return (name: string, before: readonly string[]): readonly string[] => {
    if (!known.includes(name)) throw new InvalidArgumentError(`Expected one of ${known.join(', ')}.`)
    return [...before, name]
  }
}

function url(text: string): string {
  if (!/^https?:\/\//.test(text)) throw new InvalidArgumentError('Expected http:// or https://.')
  return text
}
