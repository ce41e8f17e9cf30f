import { Command, Option } from 'commander'
import { type Hex, isHex } from 'viem'
import { badOption, readCommandLine, SEED_MAX, whole } from '../commandLine.js'
import type { Parsed } from '../program.js'

export const FAULT_PRESETS = ['none', 'default', 'storm'] as const
export type FaultPresetName = (typeof FAULT_PRESETS)[number]

/** Where the burst goes: the devnet with its faults, or a node of the user's. */
export type DemoTarget =
  | { readonly kind: 'devnet'; readonly faults: FaultPresetName }
  | { readonly kind: 'node'; readonly url: string; readonly key: Hex; readonly faultsIgnored: boolean }

export type DemoOptions = {
  readonly count: number
  readonly seed: number
  readonly json: boolean
  /** Where the sender's events are recorded, for `txlane report`. */
  readonly record: string | undefined
  readonly target: DemoTarget
}

const COUNT_DEVNET = 1_000
// Against a real node every transaction costs the user money and the node's patience.
const COUNT_NODE = 50
const COUNT_MAX = 100_000

type Raw = {
  readonly count?: number
  readonly seed: number
  readonly faults?: FaultPresetName
  readonly json: boolean
  readonly record?: string
  readonly rpc?: string
  readonly keyEnv?: string
}

/** Reads the command line; never throws and never ends the process. `environment` is where `--key-env` looks. */
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
      'Sends a burst of mixed transactions from one key while faults are injected, then walks the sealed blocks ' +
        'and checks that each one landed exactly once. Exit code 0 when it holds, 1 when not, 2 for bad options.',
    )
    .addOption(
      new Option(
        '--count <n>',
        `transactions (default: ${COUNT_DEVNET}, with --rpc ${COUNT_NODE})`,
      ).argParser(whole(1, COUNT_MAX)),
    )
    .addOption(
      new Option('--seed <n>', 'what the burst and the faults are drawn from')
        .default(1)
        .argParser(whole(0, SEED_MAX)),
    )
    .addOption(
      new Option('--faults <set>', 'faults of the devnet (default: "default")').choices(FAULT_PRESETS),
    )
    .option('--json', 'one JSON object on standard output in place of the report', false)
    .option('--record <file>', 'record what the sender tells (txlane/recorder); appended to where it exists')
    .option(
      '--rpc <url>',
      'run against this node (HTTP) in place of the devnet: costs gas, injects no faults',
    )
    .option('--key-env <name>', 'environment variable that holds the private key to use with --rpc')
}

function targetOf(raw: Raw, environment: Readonly<Record<string, string | undefined>>): DemoTarget {
  if (raw.rpc === undefined) {
    if (raw.keyEnv !== undefined)
      throw badOption('--key-env is for --rpc: the devnet brings its own account.')
    return { kind: 'devnet', faults: raw.faults ?? 'default' }
  }
  if (!isHttpUrl(raw.rpc)) throw badOption('--rpc expects a URL that begins with http:// or https://.')
  if (raw.keyEnv === undefined) {
    throw badOption('--rpc needs --key-env NAME: the environment variable that holds the private key.')
  }
  if (/[0-9a-f]{64}/i.test(raw.keyEnv)) {
    throw badOption('--key-env expects the name of an environment variable, not a key.')
  }
  const key = keyOf(environment[raw.keyEnv])
  // The value is not shown: it may be a key with a slip in it.
  if (key === undefined) {
    throw badOption(`The environment variable ${raw.keyEnv} holds no private key (32 bytes of hex).`)
  }
  return { kind: 'node', url: raw.rpc, key, faultsIgnored: (raw.faults ?? 'none') !== 'none' }
}

function isHttpUrl(text: string): boolean {
  try {
    return ['http:', 'https:'].includes(new URL(text).protocol)
  } catch {
    return false
  }
}

function keyOf(text: string | undefined): Hex | undefined {
  const digits = text?.trim().replace(/^0x/i, '') ?? ''
  const key = `0x${digits}`
  return digits.length === 64 && isHex(key, { strict: true }) ? key : undefined
}
