import { Command, InvalidArgumentError } from 'commander'
import { readCommandLine } from '../../src/cli/commandLine.js'
import type { Parsed } from '../../src/cli/program.js'

export type NodesOptions = {
  /** Names of scenarios; none means all. */
  readonly only: readonly string[]
  /** A node that cannot be had is an error. */
  readonly require: boolean
}

/** Reads the command line; never throws and never ends the process. */
export function parseOptions(argv: readonly string[], scenarios: readonly string[]): Parsed<NodesOptions> {
  const command = new Command('npm run nodes --')
    .description(
      'Runs txlane against real nodes on loopback: anvil, Hardhat, Ganache and geth, in the modes in which a newcomer ' +
        'starts them. anvil comes with the development dependencies; Hardhat and Ganache are installed by npm, and geth ' +
        'is built by go where neither PATH nor GOBIN has one, into node_modules/.cache/txlane-nodes. A node that cannot ' +
        'be had is left out. Exit code 0 when every scenario holds, 1 when one does not, 2 for bad options.',
    )
    .option('--only <name>', 'run this scenario alone; may be given more than once', named(scenarios), [])
    .option('--require', 'fail where a node cannot be had', false)
  return readCommandLine(command, argv, (flags: NodesOptions) => flags)
}

function named(known: readonly string[]) {
  return (name: string, before: readonly string[]): readonly string[] => {
    if (!known.includes(name)) throw new InvalidArgumentError(`Expected one of ${known.join(', ')}.`)
    return [...before, name]
  }
}
