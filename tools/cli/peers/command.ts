import { setMaxListeners } from 'node:events'
import { Command } from 'commander'
import {
  type Account,
  type Chain,
  createWalletClient,
  formatEther,
  type Hash,
  http,
  type LocalAccount,
  type Transport,
  type WalletClient,
} from 'viem'
import { estimateFeesPerGas, getTransactionCount, sendTransaction } from 'viem/actions'
import { createNonceManager, jsonRpc } from 'viem/nonce'
import { createSender, type Sender } from '../../../src/index.js'
import { systemClock } from '../../../src/platform/clock.js'
import { startDevnet } from '../../devnet/index.js'
import { usedBelow } from '../change/replacement.js'
import { badOption, readCommandLine, whole } from '../shared/commandLine.js'
import { type Connection, connect, isHttpUrl, type RpcFlags, rpcFlag } from '../shared/connect.js'
import { type KeyFlags, type KeySource, keyFlags, keySource, openAccount } from '../shared/keys.js'
import { json, tableOf } from '../shared/output.js'
import { answer, EXIT, type Parsed, write } from '../shared/program.js'
import { confirm } from '../shared/terminal.js'

type Environment = Readonly<Record<string, string | undefined>>

type Options = {
  /** Undefined runs on the devnet with faults. */
  readonly url: string | undefined
  readonly key: KeySource
  readonly count: number
  readonly timeoutMs: number
  readonly yes: boolean
  readonly json: boolean
}

type Flags = RpcFlags & KeyFlags & { count: number; timeout: number; yes: boolean; json: boolean }

/** One sending library, and the result of its burst. */
type Outcome = {
  readonly who: string
  readonly sent: number
  /** Number of transactions in sealed blocks at the end. */
  readonly landed: number
  readonly errors: number
  /** Number of empty nonces below the highest one; for viem only 0 or 1. */
  readonly gaps: number
  readonly timeMs: number
}

const GAS = 21_000n

/** `txlane peers`: sends the same burst once through viem's nonceManager and once through txlane. */
export function peers(argv: readonly string[], environment: Environment): Promise<number> {
  return answer(parse(argv), 'txlane peers', (options) => run(options, environment))
}

function parse(argv: readonly string[]): Parsed<Options> {
  const command = new Command('txlane peers').description(
    "Sends the same burst of transfers of 0 to the account itself through viem's nonceManager and through txlane, on your endpoint, and counts the results. Without --rpc it uses a devnet that loses requests. It spends gas, and asks first.",
  )
  keyFlags(rpcFlag(command))
    .option('--count <n>', 'transactions per burst', whole(1, 500), 20)
    .option('--timeout <seconds>', 'for each burst', whole(5, 3_600), 60)
    .option('--yes', 'skip the confirmation', false)
    .option('--json', 'one JSON object on standard output', false)
  return readCommandLine(command, argv, (flags: Flags) => {
    const { rpc, count, timeout, yes, json } = flags
    if (rpc !== undefined && !isHttpUrl(rpc))
      throw badOption('--rpc expects a URL that begins with http:// or https://.')
    return { url: rpc, key: keySource(flags), count, timeoutMs: timeout * 1_000, yes, json }
  })
}

async function run(options: Options, environment: Environment): Promise<number> {
  return options.url === undefined ? onDevnet(options) : onEndpoint(options, options.url, environment)
}

/**
 * Each library gets its own devnet, with the same faults from the same seed, so that neither inherits
 * leftovers of the other.
 */
async function onDevnet(options: Options): Promise<number> {
  const outcomes: Outcome[] = []
  for (const burst of [throughViem, throughTxlane]) {
    await using devnet = await startDevnet({ seed: 7 })
    devnet.faults.inject({
      fault: 'lostRequest',
      method: 'eth_sendRawTransaction',
      probability: 0.2,
      count: 4,
    })
    const connection = await connect(devnet.url)
    outcomes.push(await burst(connection, devnet.accounts[0] as LocalAccount, devnet.url, options))
  }
  await report(outcomes, options, 'a devnet that loses requests')
  return EXIT.held
}

async function onEndpoint(options: Options, url: string, environment: Environment): Promise<number> {
  const account = await openAccount(options.key, environment)
  const connection = await connect(url)
  const { client, chain, name } = connection
  const { maxFeePerGas } = await estimateFeesPerGas(client)
  const costWei = maxFeePerGas * GAS * BigInt(2 * options.count)
  const question = `Spend at most ${formatEther(costWei)} ${chain.nativeCurrency.symbol} of ${account.address} on ${name}?`
  if (!options.yes && !(await confirm(question, '--yes'))) return EXIT.refused
  // viem runs first, so that txlane has to cope with transactions that viem leaves open, as in practice.
  const outcomes = [
    await throughViem(connection, account, url, options),
    await throughTxlane(connection, account, url, options),
  ]
  await report(outcomes, options, name)
  return EXIT.held
}

async function throughViem(
  { client, chain }: Connection,
  account: LocalAccount,
  url: string,
  { count, timeoutMs }: Options,
): Promise<Outcome> {
  const begunMs = systemClock.now()
  const first = await getTransactionCount(client, { address: account.address, blockTag: 'pending' })
  const nonceManager = createNonceManager({ source: jsonRpc() })
  const wallet: WalletClient<Transport, Chain, Account> = createWalletClient({
    account: { ...account, nonceManager },
    chain,
    transport: http(url),
  })
  const sending = Array.from(
    { length: count },
    () => sendTransaction(wallet, { to: account.address, value: 0n, gas: GAS } as never) as Promise<Hash>,
  )
  const settled = await Promise.allSettled(sending)
  const errors = settled.filter(({ status }) => status === 'rejected').length
  await usedBelow(client, account.address, first + count, Math.min(timeoutMs, QUIET_MS))
  const landed = (await getTransactionCount(client, { address: account.address, blockTag: 'latest' })) - first
  const timeMs = systemClock.now() - begunMs
  return {
    who: 'viem nonceManager',
    sent: count,
    landed,
    errors,
    gaps: count - errors - landed > 0 ? 1 : 0,
    timeMs,
  }
}

// How long a burst without progress is watched: viem does nothing more for it.
const QUIET_MS = 15_000

async function throughTxlane(
  { client }: Connection,
  account: LocalAccount,
  _url: string,
  { count, timeoutMs }: Options,
): Promise<Outcome> {
  const begunMs = systemClock.now()
  const sender = createSender({ client, account, starved: 'fail' }) as unknown as Sender
  try {
    const items = Array.from({ length: count }, () => ({
      request: { to: account.address, value: 0n, gas: GAS },
    }))
    let [landed, errors] = [0, 0]
    const signal = AbortSignal.timeout(timeoutMs)
    // Each transaction adds a listener.
    setMaxListeners(0, signal)
    for await (const result of sender.sendMany(items, { until: 'sealed', signal })) {
      if (result.ok) landed++
      else errors++
    }
    const { holes } = await sender.snapshot()
    return {
      who: 'txlane',
      sent: count,
      landed,
      errors,
      gaps: holes.length,
      timeMs: systemClock.now() - begunMs,
    }
  } finally {
    await sender.close()
  }
}

async function report(outcomes: readonly Outcome[], { json: asJson }: Options, where: string): Promise<void> {
  if (asJson) return write(json({ where, outcomes }))
  const rows = outcomes.map(({ who, sent, landed, errors, gaps, timeMs }) => [
    who,
    String(sent),
    String(landed),
    String(errors),
    gaps > 0 ? 'yes' : 'no',
    `${(timeMs / 1_000).toFixed(1)} s`,
  ])
  await write(`On ${where}:\n\n${tableOf(['', 'sent', 'landed', 'errors', 'stands still', 'time'], rows)}`)
}
