import { Command, InvalidArgumentError, Option } from 'commander'
import { isTxlaneError } from '../../../src/index.js'
import { accountKey } from '../../devnet/accounts.js'
import { FAULT_PRESETS, type FaultPreset } from '../../devnet/faults/presets.js'
import { type Devnet, type DevnetRules, type FaultRule, startDevnet } from '../../devnet/index.js'
import { readCommandLine, SEED_MAX, whole } from '../shared/commandLine.js'
import { json, pairs, tableOf } from '../shared/output.js'
import { answer, EXIT, type Parsed, Refusal, write } from '../shared/program.js'

type DevnetFlags = {
  readonly port: number
  readonly chainId: number
  readonly blockTime: number
  readonly flashblockTime?: number
  readonly rules: DevnetRules
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
] as const

/** `txlane devnet`: runs a local chain until it is interrupted. */
export function devnet(argv: readonly string[], _environment: unknown): Promise<number> {
  return answer(parse(argv), 'txlane devnet', run)
}

function parse(argv: readonly string[]): Parsed<DevnetFlags> {
  const command = new Command('txlane devnet')
    .description(
      'A local chain on 127.0.0.1, with pre-confirmations and, on request, the usual faults of nodes. Its private keys are public. On a terminal: b seals a block, r removes one, n, d and s select a fault set, q ends it.',
    )
    .addOption(new Option('--port <n>', '0 takes a free one').default(8_545).argParser(whole(0, 65_535)))
    .addOption(new Option('--chain-id <n>').default(31_337).argParser(whole(1, SEED_MAX)))
    .addOption(
      new Option('--block-time <ms>', 'time between sealed blocks')
        .default(2_000)
        .argParser(whole(1, 600_000)),
    )
    .addOption(
      new Option(
        '--flashblock-time <ms>',
        'time between pre-confirmations (default: 200 with the rules of base)',
      ).argParser(whole(1, 600_000)),
    )
    .addOption(
      new Option('--rules <pool>', 'rules of the pool').choices(['base', 'geth', 'anvil']).default('base'),
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
  const { port, chainId, blockTime, flashblockTime, rules, accounts, seed, fork } = flags
  const chain = await startDevnet({
    port,
    chainId,
    rules,
    accounts,
    seed,
    blockTimeMs: blockTime,
    flashblockMs: flashblockTime,
    forkUrl: fork,
  }).catch((error: unknown) => {
    throw isTxlaneError(error) ? new Refusal(error.shortMessage) : error
  })
  chain.faults.preset(flags.faults)
  for (const rule of flags.fault) chain.faults.inject(rule)
  const keys = chain.accounts.map((account, index) => ({ address: account.address, key: accountKey(index) }))
  if (flags.json) await write(json({ url: chain.url, wsUrl: chain.wsUrl, chainId, accounts: keys }))
  else {
    await write(
      pairs([
        ['node', chain.url],
        ['WebSocket', chain.wsUrl],
        ['chain', String(chainId)],
        ['rules', rules],
      ]),
    )
    await write(
      tableOf(
        ['account', 'private key (public)'],
        keys.map(({ address, key }) => [address, key]),
      ),
    )
  }
  await untilEnded(chain)
  await chain.stop()
  return EXIT.held
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
  if (key !== 'r') return undefined
  await chain.reorg(1)
  return 'removed one block'
}

function say(text: string | undefined): void {
  if (text !== undefined) process.stderr.write(`${text}\n`)
}
