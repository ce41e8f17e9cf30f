import { Command, InvalidArgumentError, Option } from 'commander'
import { badOption, readCommandLine, SEED_MAX, whole } from '../../tools/cli/shared/commandLine.js'
import type { Parsed } from '../../tools/cli/shared/program.js'
import { waysNamed } from './drawFaults.js'
import type { Keep } from './plan.js'

export type OddRunOptions = {
  /** Undefined if the duration decides when to stop. */
  readonly worlds: number | undefined
  readonly seconds: number | undefined
  /** The seed of the first world; each later world has the next one. */
  readonly seed: number
  /** Only faults whose names begin with this text. */
  readonly fault: string | undefined
  readonly keep: Keep | undefined
  readonly endpoints: 1 | 2 | undefined
  /** Two endpoints, of which one never errs. */
  readonly honest: boolean
  readonly all: boolean
  readonly trace: boolean
  readonly progress: boolean
}

const WORLDS = 200
const WORLDS_MAX = 100_000_000
const SECONDS_MAX = 7 * 86_400

/** Reads the command line; never throws and never ends the process. */
export function parseOptions(argv: readonly string[]): Parsed<OddRunOptions> {
  return readCommandLine(
    createCommand(),
    argv,
    ({ worlds, seconds, fault, keep, endpoints, ...rest }: OddRunOptions) => {
      if (worlds !== undefined && seconds !== undefined)
        throw badOption('--worlds and --seconds exclude each other.')
      if (fault !== undefined && waysNamed(fault).length === 0)
        throw badOption('No fault has a name that begins so.')
      if (rest.honest && endpoints === 1) throw badOption('--honest takes two endpoints.')
      return {
        worlds: seconds === undefined ? (worlds ?? WORLDS) : undefined,
        seconds,
        fault,
        keep,
        endpoints,
        ...rest,
      }
    },
  )
}

function createCommand(): Command {
  return new Command('npm run odd --')
    .description(
      'Runs the whole sender in virtual time against endpoints that err in drawn ways for some seconds and are honest ' +
        'afterwards, and compares the events with the rules of test/odd/judge.ts. Exit code 0 if all held, 1 ' +
        'if not, 2 for bad options.',
    )
    .addOption(
      new Option('--worlds <n>', `how many worlds (default: ${WORLDS})`).argParser(whole(1, WORLDS_MAX)),
    )
    .addOption(
      new Option('--seconds <n>', 'as many as fit into so many seconds').argParser(whole(1, SECONDS_MAX)),
    )
    .addOption(
      new Option('--seed <n>', 'of the first world; the next has the next')
        .default(1)
        .argParser(whole(0, SEED_MAX)),
    )
    .option('--fault <name>', 'only faults whose names begin so, such as "countLatest off 5" or "receipt"')
    .addOption(
      new Option('--keep <json>', 'only a part of the world, as a failure prints it').argParser(partOfWorld),
    )
    .addOption(
      new Option('--endpoints <n>', 'worlds of one endpoint, or of two (default: as drawn)').argParser(
        whole(1, 2),
      ),
    )
    .option('--honest', 'worlds of two endpoints, of which one never errs', false)
    .option('--all', 'continue after the first failure', false)
    .option('--trace', 'print requests, answers, sends and events', false)
    .option('--progress', 'print the progress from time to time, on standard error', false)
}

const PARTS = { items: 'number', faults: 'number', extras: 'string' } as const

function partOfWorld(text: string): Keep {
  const expected = new InvalidArgumentError('Expected the output of a failed run.')
  let keep: unknown
  try {
    keep = JSON.parse(text)
  } catch {
    throw expected
  }
  if (typeof keep !== 'object' || keep === null || Array.isArray(keep)) throw expected
  for (const [part, those] of Object.entries(keep)) {
    const type = PARTS[part as keyof typeof PARTS]
    if (!Array.isArray(those) || !those.every((one) => type !== undefined && typeof one === type))
      throw expected
  }
  return keep as Keep
}
