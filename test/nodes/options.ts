import { Command, InvalidArgumentError } from 'commander'
import { readCommandLine } from '../../tools/cli/shared/commandLine.js'
import type { Parsed } from '../../tools/cli/shared/program.js'
import { cases } from './cases/index.js'
import { NODE_NAMES, type NodeName } from './nodes/description.js'

export type NodesOptions = {
  readonly node: readonly NodeName[]
  /** A case runs if its name contains all of these words; without words every case runs. */
  readonly only: readonly string[]
  /** If true, an unavailable node is an error. */
  readonly require: boolean
  /** If true, the nodes are found, built or installed, and nothing is run. */
  readonly get: boolean
}

/** Reads the command line; never throws and never ends the process. */
export function parseOptions(argv: readonly string[]): Parsed<NodesOptions> {
  const command = new Command('npm run nodes --')
    .description(
      'Runs one suite against real nodes on loopback: anvil, Hardhat, Ganache and geth. anvil comes with the development ' +
        'dependencies. geth is the one of TXLANE_GETH or the PATH, else it is built by Go; Hardhat and Ganache are installed ' +
        'by npm; both into a cache folder of the user. A node that cannot be had is left out, and a case that a node has ' +
        'no means for. Exit code 0 when every case holds, 1 when one does not, 2 for bad options.',
    )
    .option('--node <name>', `this node: ${NODE_NAMES.join(', ')}; may be given more than once`, oneOf)
    .option('--only <words>', 'cases whose name has these words; more than once: all of them', named, [])
    .option('--require', 'fail if a node is unavailable', false)
    .option('--get', 'build and install missing nodes, and run nothing', false)
  return readCommandLine(
    command,
    argv,
    (flags: Omit<NodesOptions, 'node'> & { node?: readonly NodeName[] }) => ({
      ...flags,
      node: flags.node ?? NODE_NAMES,
    }),
  )
}

function oneOf(name: string, before: readonly NodeName[] = []): readonly NodeName[] {
  const known = NODE_NAMES.find((one) => one === name)
  if (known === undefined) throw new InvalidArgumentError(`Expected one of ${NODE_NAMES.join(', ')}.`)
  return [...before, known]
}

function named(words: string, before: readonly string[]): readonly string[] {
  const all = [...before, words]
  if (!cases.some(({ name }) => all.every((one) => name.includes(one))))
    throw new InvalidArgumentError('No case has a name with all of these words.')
  return all
}
