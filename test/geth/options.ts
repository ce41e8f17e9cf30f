import { Command, InvalidArgumentError } from 'commander'
import { readCommandLine, SEED_MAX, whole } from '../../tools/cli/shared/commandLine.js'
import type { Parsed } from '../../tools/cli/shared/program.js'
import { KNOWN_SEQUENCES, RECORDED_SEEDS } from './knownSequences.js'

export type GethOptions = {
  /** Names of known sequences. */
  readonly known: readonly string[]
  /** Seeds of random sequences. */
  readonly seeds: readonly number[]
  /** Writes the behaviour of geth into this folder. */
  readonly record?: string
}

/** Reads the command line; never throws and never ends the process. */
export function parseOptions(argv: readonly string[], newSeed: number): Parsed<GethOptions> {
  const command = new Command('npm run geth --')
    .description(
      'Sends the same transactions to a geth and to the model of its pool, and compares answers, counts and contents ' +
        'after each request. Without options: all known sequences, and 20 random ones of a new seed. With --record ' +
        'alone: all that have a recording. Exit code 0 when they are alike, 1 when they are not, 2 for bad options.',
    )
    .option('--known <name>', 'this known sequence alone; may be given more than once', named, [])
    .option('--runs <count>', 'random sequences alone, so many', whole(0, RUNS_MAX))
    .option('--seed <number>', 'of the first random sequence', whole(0, SEED_MAX))
    .option('--record <folder>', 'write the behaviour of geth into this folder')
  return readCommandLine(command, argv, ({ known, runs, seed = newSeed, record }: Flags) => {
    const isChosen = known.length > 0 || runs !== undefined
    const from = (count: number) => Array.from({ length: count }, (_, index) => seed + index)
    return {
      known: isChosen ? known : NAMES,
      seeds: record !== undefined && !isChosen ? RECORDED_SEEDS : from(runs ?? (isChosen ? 0 : RUNS)),
      ...(record === undefined ? {} : { record }),
    }
  })
}

type Flags = {
  readonly known: readonly string[]
  readonly runs?: number
  readonly seed?: number
  readonly record?: string
}

const RUNS = 20
const RUNS_MAX = 1_000_000
const NAMES = KNOWN_SEQUENCES.map(({ name }) => name)

function named(name: string, before: readonly string[]): readonly string[] {
  if (!NAMES.includes(name)) throw new InvalidArgumentError(`Expected one of: ${NAMES.join('; ')}.`)
  return [...before, name]
}
