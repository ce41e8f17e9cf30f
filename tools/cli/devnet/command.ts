import { Command, InvalidArgumentError, Option } from 'commander'
import { isTxlaneError, type TxlaneError } from '../../../src/index.js'
import { accountKey } from '../../devnet/accounts.js'
import { FAULT_PRESETS, type FaultPreset } from '../../devnet/faults/presets.js'
import {
  type Devnet,
  type DevnetMode,
  type DevnetOptions,
  type DevnetRules,
  type FaultRule,
  startDevnet,
} from '../../devnet/index.js'
import { DEVNET_MODES, settingsOf } from '../../devnet/options.js'
import { readCommandLine, SEED_MAX, whole } from '../shared/commandLine.js'
import { json, pairs, tableOf, widthOf } from '../shared/output.js'
import { answer, EXIT, type Parsed, Refusal, write } from '../shared/program.js'

type DevnetFlags = {
  readonly port: number
  readonly chainId: number
  readonly mode?: DevnetMode
  readonly mining: 'timer' | 'manual'
  readonly blockTime?: number
  readonly flashblockTime?: number
  readonly safeLag?: number
  readonly finalizedLag?: number
  readonly rules?: DevnetRules
  readonly accounts: number
  readonly seed: number
  readonly faults: FaultPreset
  readonly fault: readonly FaultRule[]
  readonly fork?: string
  readonly json: boolean
}

/** Faults that need no setting except their share. */
const SWITCHES = [
  'lostRequest',
  'lostResponse',
  'dropConnection',
  'malformed',
  'delay',
  'reorder',
  'httpStatus',
  'laggingReplica',
  'rpcError',
  'neverPooled',
  'evict',
  'foreign',
  'lostFlashblock',
  'reorg',
  'silentSubscription',
  'repeatedNotification',
  'skippedNotification',
  'reorderedNotification',
  'droppedSocket',
] as const

const LAG_MS_MAX = 86_400_000

/** `txlane devnet`: runs a local chain until it is interrupted. */
export function devnet(argv: readonly string[], _environment: unknown): Promise<number> {
  return answer(parse(argv), 'txlane devnet', run)
}

function parse(argv: readonly string[]): Parsed<DevnetFlags> {
  const command = new Command('txlane devnet')
    .description(
      'A local chain on 127.0.0.1, with pre-confirmations or fast blocks and, on request, the usual faults of nodes. Its private keys are public. On a terminal: f makes the next flashblock, b seals a block, r removes one, n, d and s select a fault set, q ends it.',
    )
    .addOption(new Option('--port <n>', '0 takes a free one').default(8_545).argParser(whole(0, 65_535)))
    .addOption(new Option('--chain-id <n>').default(31_337).argParser(whole(1, SEED_MAX)))
    .addOption(
      new Option(
        '--mode <kind>',
        'kind of chain: preconfirmed (blocks of 2 s with flashblocks; the default), fastBlocks (canonical blocks of 200 ms, as on Base), plain (blocks of 2 s; the default with the rules of geth or anvil)',
      ).choices(DEVNET_MODES),
    )
    .addOption(
      new Option('--mining <when>', 'blocks by timer, or only when b or f is typed or evm_mine is called')
        .choices(['timer', 'manual'])
        .default('timer'),
    )
    .addOption(
      new Option(
        '--block-time <ms>',
        'time between sealed blocks (default: 2000, in mode fastBlocks 200)',
      ).argParser(whole(1, 600_000)),
    )
    .addOption(
      new Option(
        '--flashblock-time <ms>',
        'time between pre-confirmations in mode preconfirmed (default: 200)',
      ).argParser(whole(1, 600_000)),
    )
    .addOption(
      new Option('--safe-lag <ms>', 'lag of the tag safe (default: minutes)').argParser(whole(0, LAG_MS_MAX)),
    )
    .addOption(
      new Option('--finalized-lag <ms>', 'lag of the tag finalized (default: 13 to 19 minutes)').argParser(
        whole(0, LAG_MS_MAX),
      ),
    )
    .addOption(
      new Option('--rules <pool>', 'rules of the pool (default: base, in mode plain geth)').choices([
        'base',
        'geth',
        'anvil',
      ]),
    )
    .addOption(
      new Option('--accounts <n>', 'number of accounts, with 10,000 ether each')
        .default(10)
        .argParser(whole(1, 10_000)),
    )
    .addOption(
      new Option('--seed <n>', 'seed of the random fault decisions').default(1).argParser(whole(0, SEED_MAX)),
    )
    .addOption(new Option('--faults <set>', 'initial fault set').choices(FAULT_PRESETS).default('none'))
    .addOption(
      new Option(
        '--fault <kind=share>',
        `one fault, as in lostResponse=0.1; may be repeated: ${SWITCHES.join(', ')}`,
      )
        .default([])
        .argParser(faultOf),
    )
    .option('--fork <url>', 'URL of a chain whose state is forked')
    .option('--json', 'print one JSON object once the chain is ready', false)
  return readCommandLine(command, argv, (flags: DevnetFlags) => flags)
}

function faultOf(text: string, before: readonly FaultRule[]): readonly FaultRule[] {
  const [kind = '', share = ''] = text.split('=')
  const probability = Number(share)
  if (!(SWITCHES as readonly string[]).includes(kind) || !/^[\d.]+$/.test(share) || probability > 1) {
    throw new InvalidArgumentError('Expected a fault and its share, as in lostResponse=0.1.')
  }
  return [...before, { fault: kind, probability } as FaultRule]
}

async function run(flags: DevnetFlags): Promise<number> {
  const { chainId } = flags
  const options: DevnetOptions = {
    port: flags.port,
    chainId,
    mode: flags.mode,
    mining: flags.mining,
    rules: flags.rules,
    accounts: flags.accounts,
    seed: flags.seed,
    blockTimeMs: flags.blockTime,
    flashblockMs: flags.flashblockTime,
    safeLagMs: flags.safeLag,
    finalizedLagMs: flags.finalizedLag,
    forkUrl: flags.fork,
  }
  const chain = await startDevnet(options).catch((error: unknown) => {
    throw isTxlaneError(error) ? new Refusal(reasonOf(error)) : error
  })
  const { mode, rules } = settingsOf(options)
  chain.faults.preset(flags.faults)
  for (const rule of flags.fault) chain.faults.inject(rule)
  const keys = chain.accounts.map((account, index) => ({ address: account.address, key: accountKey(index) }))
  if (flags.json) await write(json({ url: chain.url, wsUrl: chain.wsUrl, chainId, mode, accounts: keys }))
  else {
    await write(
      pairs([
        ['node', chain.url],
        ['WebSocket', chain.wsUrl],
        ['chain', String(chainId)],
        ['mode', mode],
        ['rules', rules],
      ]),
    )
    await write(keysText(keys))
  }
  await untilEnded(chain)
  await chain.stop()
  return EXIT.held
}

const KEY_CHARS = 66
const ADDRESS_CHARS = 42

/** A table, or two lines for each account in a terminal that is too narrow for it. */
function keysText(keys: readonly { readonly address: string; readonly key: string }[]): string {
  if (widthOf() > ADDRESS_CHARS + 2 + KEY_CHARS)
    return tableOf(
      ['account', 'private key (public)'],
      keys.map(({ address, key }) => [address, key]),
    )
  return `accounts and their private keys (public)\n${keys.map(({ address, key }) => `${address}\n${key}\n`).join('')}`
}

/** Resolves on SIGINT, SIGTERM or q. Other keys control the chain. */
function untilEnded(chain: Devnet): Promise<void> {
  const { stdin } = process
  return new Promise((resolve) => {
    const end = () => {
      if (stdin.isTTY) stdin.setRawMode(false)
      stdin.pause()
      resolve()
    }
    process.once('SIGINT', end)
    process.once('SIGTERM', end)
    if (!stdin.isTTY) return
    stdin.setRawMode(true)
    stdin.on('data', (typed) => {
      const key = typed.toString()
      if (key === 'q' || key === '\u0003') end()
      else void steer(chain, key).then(say, (error: Error) => say(error.message))
    })
  })
}

const PRESETS: Readonly<Record<string, FaultPreset>> = { n: 'none', d: 'default', s: 'storm' }

async function steer(chain: Devnet, key: string): Promise<string | undefined> {
  const preset = PRESETS[key]
  if (preset !== undefined) {
    chain.faults.clear()
    chain.faults.preset(preset)
    return `faults: ${preset}`
  }
  if (key === 'b') return `sealed block ${(await chain.seal()).number}`
  if (key === 'f') {
    await chain.stepFlashblock()
    return 'made a flashblock'
  }
  if (key !== 'r') return undefined
  await chain.reorg(1)
  return 'removed one block'
}

function say(text: string | undefined): void {
  if (text !== undefined) process.stderr.write(`${text}\n`)
}

/** With the remedy, for example how anvil is installed. */
const reasonOf = ({ shortMessage, metaMessages = [] }: TxlaneError): string =>
  [shortMessage, ...metaMessages].join('\n')
