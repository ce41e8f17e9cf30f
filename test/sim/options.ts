import { Command, InvalidArgumentError, Option } from 'commander'
import { badOption, readCommandLine, SEED_MAX, whole } from '../../tools/cli/shared/commandLine.js'
import type { Parsed } from '../../tools/cli/shared/program.js'
import type { ChainKind } from './chain/options.js'
import { CHAIN_KINDS } from './chainPlan.js'
import type { Keep } from './plan.js'

export type SimOptions = {
  readonly runs: number
  /** The seed of the first world; each later world has the next one. */
  readonly seed: number
  readonly calm: boolean
  readonly deep: boolean
  readonly busy: boolean
  readonly pools: boolean
  readonly naive: boolean
  readonly all: boolean
  readonly chain: ChainKind | undefined
  readonly tags: 'blocks' | 'time' | undefined
  readonly transactions: number | undefined
  readonly keep: Keep | undefined
  readonly trace: boolean
  readonly reads: boolean
  readonly progress: boolean
  readonly json: boolean
}

const RUNS = 200
const RUNS_MAX = 100_000_000
const TRANSACTIONS_MAX = 10_000

/** Reads the command line; never throws and never ends the process. */
export function parseOptions(argv: readonly string[]): Parsed<SimOptions> {
  return readCommandLine(
    createCommand(),
    argv,
    ({ transactions, keep, chain, tags, ...rest }: SimOptions) => {
      if (rest.reads && !rest.trace) throw badOption('--reads is for --trace.')
      for (const one of ['calm', 'deep', 'busy', 'naive', 'trace'] as const) {
        if (rest.pools && rest[one])
          throw badOption(`--${one} is for worlds of one key, and not for --pools.`)
      }
      if (rest.pools && (keep ?? transactions ?? chain ?? tags) !== undefined)
        throw badOption(
          '--keep, --transactions, --chain and --tags are for worlds of one key, and not for --pools.',
        )
      return { ...rest, chain, tags, transactions, keep }
    },
  )
}

function createCommand(): Command {
  return new Command('npm run sim --')
    .description(
      'Runs the whole sender in virtual time, each time in a world of its own that is drawn from a seed, and holds ' +
        'every answer to a caller with the chain once the world has healed. Exit code 0 if all of it matched, ' +
        '1 when not, 2 for bad options.',
    )
    .addOption(new Option('--runs <n>', 'how many worlds').default(RUNS).argParser(whole(1, RUNS_MAX)))
    .addOption(
      new Option('--seed <n>', 'of the first; the next has the next')
        .default(1)
        .argParser(whole(0, SEED_MAX)),
    )
    .option('--all', 'continue after the first failure', false)
    .option('--calm', 'without faults', false)
    .option('--deep', 'reorgs deeper than the promises hold for', false)
    .option('--busy', 'slow processes, whose long work is done in parts', false)
    .option('--pools', 'several keys, whose money runs out, instead of one', false)
    .addOption(new Option('--chain <kind>', 'one kind of chain (default: drawn)').choices(CHAIN_KINDS))
    .addOption(
      new Option(
        '--tags <unit>',
        'the distance of safe and finalized to the head: some blocks, or drawn times (fastBlocks: always times)',
      ).choices(['blocks', 'time']),
    )
    .option('--naive', 'the naive sender instead of the one under test', false)
    .addOption(
      new Option('--transactions <n>', 'so many in each world (default: drawn)').argParser(
        whole(1, TRANSACTIONS_MAX),
      ),
    )
    .addOption(
      new Option('--keep <json>', 'only a part of the world, as a failure prints it').argParser(partOfWorld),
    )
    .option('--trace', 'print sends, blocks and answers', false)
    .option('--reads', 'and also reads', false)
    .option('--progress', 'print the progress from time to time, on standard error', false)
    .option('--json', 'one JSON object on standard output in place of the text', false)
}

const PARTS = { items: 'number', disturbances: 'number', faults: 'string' } as const

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
