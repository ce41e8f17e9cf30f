import { Command, InvalidArgumentError, Option } from 'commander'
import { badOption, readCommandLine, whole } from '../tools/cli/shared/commandLine.js'
import type { Parsed } from '../tools/cli/shared/program.js'
import { isPartName, PART_NAMES, type PartName } from './claims/delivery/names.js'
import { CLAIM_NAMES, type ClaimName, isClaimName } from './claims/index.js'

export type BenchOptions = {
  readonly claims: readonly ClaimName[]
  readonly rounds: number
  /** Undefined uses the default of each claim. */
  readonly transactions: number | undefined
  readonly presigned: boolean
  /** Parts to run; all if empty. */
  readonly parts: readonly PartName[]
  /** Folder of the results. */
  readonly out: string
  readonly json: boolean
  readonly check: boolean
}

type Raw = Omit<BenchOptions, 'claims' | 'transactions' | 'parts'> & {
  readonly transactions?: number
  readonly part: readonly PartName[]
}

const ROUNDS = 5
const OUT = 'bench/results'

/** Parses the command line. It never throws for bad options and never ends the process. */
export function parseOptions(argv: readonly string[]): Parsed<BenchOptions> {
  const command = new Command('npm run bench --')
    .description(
      'Measures txlane beside other libraries, in the same run and on the same node, and writes the results and their charts. ' +
        'Exit code 0 when every claim was measured, 1 when one failed or, with --check, a target was missed, 2 for ' +
        'bad options.',
    )
    .argument('[claims...]', `claims to measure: ${CLAIM_NAMES.join(', ')} (default: all)`)
    .addOption(
      new Option('--rounds <n>', 'rounds that count, after a warm-up round')
        .default(ROUNDS)
        .argParser(whole(1, 1_000)),
    )
    .addOption(
      new Option('--transactions <n>', "transactions per round, instead of each claim's default").argParser(
        whole(1, 100_000_000),
      ),
    )
    .addOption(
      new Option('--part <name>', `delivery: only this part; may be repeated (${PART_NAMES.join(', ')})`)
        .default([], 'all of them')
        .argParser(namedPart),
    )
    .option('--presigned', 'durable: sign before the clock starts', false)
    .option('--out <folder>', 'folder for latest.json and the charts', OUT)
    .option('--json', 'print the results as one line of JSON on standard output instead of tables', false)
    .option('--check', 'exit code 1 when a target is missed', false)
  return readCommandLine(command, argv, ({ part, ...raw }: Raw) => ({
    ...raw,
    claims: namedClaims(command.args),
    transactions: raw.transactions,
    parts: part,
  }))
}

function namedPart(name: string, before: readonly PartName[]): readonly PartName[] {
  if (!isPartName(name)) throw new InvalidArgumentError(`Expected one of ${PART_NAMES.join(', ')}.`)
  return [...before, name]
}

function namedClaims(names: readonly string[]): readonly ClaimName[] {
  const unknown = names.find((name) => !isClaimName(name))
  if (unknown !== undefined)
    throw badOption(`There is no claim "${unknown}". Expected one of ${CLAIM_NAMES.join(', ')}.`)
  // In the claims' fixed order, without duplicates.
  return CLAIM_NAMES.filter((name) => names.length === 0 || names.includes(name))
}
