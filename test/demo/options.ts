import { Command, Option } from 'commander'
import type { Hex } from 'viem'
import { badOption, readCommandLine, SEED_MAX, whole } from '../../tools/cli/shared/commandLine.js'
import { isHttpUrl } from '../../tools/cli/shared/connect.js'
import { keyOf } from '../../tools/cli/shared/keys.js'
import type { Parsed } from '../../tools/cli/shared/program.js'
import { FAULT_PRESETS, type FaultPreset } from '../../tools/devnet/faults/presets.js'
import type { DevnetMode } from '../../tools/devnet/index.js'
import { DEVNET_MODES } from '../../tools/devnet/options.js'

/** The target of the burst: the devnet with its faults, or the user's node. */
export type DemoTarget =
  | { readonly kind: 'devnet'; readonly faults: FaultPreset; readonly mode: DevnetMode }
  | { readonly kind: 'node'; readonly url: string; readonly key: Hex; readonly faultsIgnored: boolean }

export type DemoOptions = {
  readonly count: number
  readonly seed: number
  readonly json: boolean
  /** Path of a recording of the sender's events, for `txlane report`. */
  readonly record: string | undefined
  readonly target: DemoTarget
}

const COUNT_DEVNET = 1_000
// On a real node every transaction costs the user's money and the node's capacity.
const COUNT_NODE = 50
const COUNT_MAX = 100_000

type Raw = {
  readonly count?: number
  readonly seed: number
  readonly faults?: FaultPreset
  readonly mode?: DevnetMode
  readonly json: boolean
  readonly record?: string
  readonly rpc?: string
  readonly keyEnv?: string
}

/**
 * Parses the command line. It never throws for bad options and never ends the process. `--key-env` reads from
 * `environment`.
 */
export function parseOptions(
  argv: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): Parsed<DemoOptions> {
  return readCommandLine(createCommand(), argv, (raw: Raw) => {
    const target = targetOf(raw, environment)
    const count = raw.count ?? (target.kind === 'node' ? COUNT_NODE : COUNT_DEVNET)
    return { count, seed: raw.seed, json: raw.json, record: raw.record, target }
  })
}

function createCommand(): Command {
  return new Command('npm run demo --')
    .description(
      'Sends a burst of mixed transactions from one key while faults are injected, then reads the sealed blocks ' +
        'and checks that each one landed exactly once. Exit code 0 if the check holds, 1 if not, 2 for bad options.',
    )
    .addOption(
      new Option(
        '--count <n>',
        `transactions (default: ${COUNT_DEVNET}, with --rpc ${COUNT_NODE})`,
      ).argParser(whole(1, COUNT_MAX)),
    )
    .addOption(
      new Option('--seed <n>', 'seed of the burst and the faults').default(1).argParser(whole(0, SEED_MAX)),
    )
    .addOption(
      new Option('--faults <set>', 'faults of the devnet (default: "default")').choices(FAULT_PRESETS),
    )
    .addOption(
      new Option('--mode <kind>', 'kind of chain of the devnet (default: "preconfirmed")').choices(
        DEVNET_MODES,
      ),
    )
    .option('--json', 'one JSON object on standard output instead of the report', false)
    .option(
      '--record <file>',
      'record the events of the sender (txlane/recorder); appends to an existing file',
    )
    .option('--rpc <url>', 'run against this node (HTTP) instead of the devnet: costs gas, injects no faults')
    .option('--key-env <name>', 'environment variable that holds the private key to use with --rpc')
}

function targetOf(raw: Raw, environment: Readonly<Record<string, string | undefined>>): DemoTarget {
  if (raw.rpc === undefined) {
    if (raw.keyEnv !== undefined) throw badOption('--key-env is for --rpc: the devnet has its own account.')
    return { kind: 'devnet', faults: raw.faults ?? 'default', mode: raw.mode ?? 'preconfirmed' }
  }
  if (raw.mode !== undefined) throw badOption('--mode is for the devnet: a node has its own kind of chain.')
  if (!isHttpUrl(raw.rpc)) throw badOption('--rpc expects a URL that begins with http:// or https://.')
  if (raw.keyEnv === undefined) {
    throw badOption('--rpc needs --key-env NAME: the environment variable that holds the private key.')
  }
  if (/[0-9a-f]{64}/i.test(raw.keyEnv)) {
    throw badOption('--key-env expects the name of an environment variable, not a key.')
  }
  const key = keyOf(environment[raw.keyEnv])
  // The value is not shown: it may be a key with a typo.
  if (key === undefined) {
    throw badOption(`The environment variable ${raw.keyEnv} holds no private key (32 bytes of hex).`)
  }
  return { kind: 'node', url: raw.rpc, key, faultsIgnored: (raw.faults ?? 'none') !== 'none' }
}
