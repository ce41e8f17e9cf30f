import { Command, InvalidArgumentError, Option } from 'commander'
import { badOption, readCommandLine, whole } from '../src/cli/commandLine.js'
import type { Parsed } from '../src/cli/program.js'
import { isPartName, PART_NAMES, type PartName } from './claims/delivery/names.js'
import { CLAIM_NAMES, type ClaimName, isClaimName } from './claims/index.js'

export type BenchOptions = {
  readonly claims: readonly ClaimName[]
  readonly rounds: number
  /** Undefined for each claim's own. */
  readonly transactions: number | undefined
  readonly presigned: boolean
  /** All of them where none is named. */
  readonly parts: readonly PartName[]
  /** Where the results are written. */
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

/** Reads the command line; never throws and never ends the process. */
export function parseOptions(argv: readonly string[]): Parsed<BenchOptions> {
  const command = new Command('npm run bench --')
    .description(
      'Measures txlane beside its peers, in the same run and on the same node, and writes the results and their charts. ' +
        'Exit code 0 when all was measured, 1 when something failed or, with --check, a number was not reached, 2 for ' +
        'bad options.',
    )
    .argument('[claims...]', `what to measure: ${CLAIM_NAMES.join(', ')}; all of them where none is named`)
    .addOption(
      new Option('--rounds <n>', 'rounds that count, after one that warms up')
        .default(ROUNDS)
        .argParser(whole(1, 1_000)),
    )
    .addOption(
      new Option('--transactions <n>', "how many a round, in place of each claim's own number").argParser(
        whole(1, 100_000_000),
      ),
    )
    .addOption(
      new Option('--part <name>', `delivery: this part alone, or several (${PART_NAMES.join(', ')})`)
        .default([], 'all of them')
        .argParser(namedPart),
    )
    .option('--presigned', 'durable: sign before the clock starts', false)
    .option('--out <folder>', 'where latest.json and the charts go', OUT)
    .option('--json', 'the results as one line of JSON on standard output in place of tables', false)
    .option('--check', 'exit code 1 when a number is not reached', false)
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
  // In their own order, each once.
  return CLAIM_NAMES.filter((name) => names.length === 0 || names.includes(name))
}
