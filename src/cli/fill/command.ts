import { Command } from 'commander'
import { type Address, formatEther, isAddress, type LocalAccount } from 'viem'
import { estimateGas } from 'viem/actions'
import { feesAbove, handOver, type Plain, usedBelow } from '../change/replacement.js'
import { badOption, readCommandLine, whole } from '../commandLine.js'
import { type Connection, connect, type RpcFlags, rpcFlag, rpcUrl } from '../connect.js'
import { lookAt } from '../inspect/look.js'
import { confirm, type KeyFlags, type KeySource, keyFlags, keySource, openAccount } from '../keys.js'
import { count, json } from '../output.js'
import { answer, EXIT, type Parsed, Refusal, write } from '../program.js'

type Environment = Readonly<Record<string, string | undefined>>

type Options = {
  readonly address: Address
  readonly url: string
  readonly key: KeySource
  readonly to: number | undefined
  readonly dryRun: boolean
  readonly yes: boolean
  readonly json: boolean
  readonly timeoutMs: number
}

type Flags = RpcFlags &
  KeyFlags & { to?: number; dryRun: boolean; yes: boolean; json: boolean; timeout: number }

/** `txlane fill`: a transfer of nothing to oneself at every nonce that is missing. */
export function fill(argv: readonly string[], environment: Environment): Promise<number> {
  return answer(parse(argv, environment), 'txlane fill', (options) => run(options, environment))
}

function parse(argv: readonly string[], environment: Environment): Parsed<Options> {
  const command = new Command('txlane fill')
    .description(
      'Fills the gaps in the nonces of an account that something else has left: a transfer of nothing to itself at each. It does not know of txlane senders that use the key elsewhere: they fill their own.',
    )
    .argument('<address>')
  keyFlags(rpcFlag(command))
    .option(
      '--to <nonce>',
      'fill up to this one, where the node does not show its pool',
      whole(0, Number.MAX_SAFE_INTEGER),
    )
    .option('--dry-run', 'say what would be sent, and send nothing', false)
    .option('--yes', 'do not ask', false)
    .option('--timeout <seconds>', 'for the blocks', whole(1, 86_400), 120)
    .option('--json', 'one JSON object on standard output', false)
  return readCommandLine(command, argv, (flags: Flags, [address = '']) => {
    if (!isAddress(address)) throw badOption('Expected an address, its checksum included.')
    const { to, dryRun, yes, json, timeout } = flags
    return {
      address,
      url: rpcUrl(flags, environment),
      key: keySource(flags),
      to,
      dryRun,
      yes,
      json,
      timeoutMs: timeout * 1_000,
    }
  })
}

async function run(options: Options, environment: Environment): Promise<number> {
  const { address, url } = options
  const connection = await connect(url)
  const holes = await missing(options, connection)
  if (holes.length === 0) {
    await write(options.json ? json({ address, filled: [] }) : 'Nothing is missing.\n')
    return EXIT.held
  }
  const { client, chain } = connection
  const [fees, gas] = await Promise.all([
    feesAbove(client, undefined, undefined),
    estimateGas(client, { account: address, to: address, value: 0n }),
  ])
  const costWei = fees.maxFeePerGas * gas * BigInt(holes.length)
  const what = `${count(holes.length, 'transfer')} of nothing from ${address} to itself, at ${list(holes)}, for at most ${formatEther(costWei)} ${chain.nativeCurrency.symbol}`
  if (options.dryRun) {
    await write(
      options.json ? json({ address, missing: holes, costWei, dryRun: true }) : `Would send ${what}.\n`,
    )
    return EXIT.held
  }
  const account = await openAccount(options.key, environment)
  if (account.address !== address)
    throw new Refusal(`The key is that of ${account.address}, not of ${address}.`)
  if (!options.yes && !(await confirm(`Send ${what}?`, '--yes'))) return EXIT.refused
  const filled = await sendAll(connection, account, holes, { gas, fees })
  const done = await usedBelow(client, address, (holes.at(-1) ?? 0) + 1, options.timeoutMs)
  const told = done
    ? 'The gaps are filled.'
    : 'Sent, and not all of it in a block yet: look again with txlane inspect.'
  await write(options.json ? json({ address, filled, sealed: done }) : `${told}\n`)
  return done ? EXIT.held : EXIT.failed
}

async function missing({ address, url, to }: Options, connection: Connection): Promise<readonly number[]> {
  const look = await lookAt(connection, url, address)
  if (look.waiting !== undefined) return look.holes
  const first = Math.max(look.counts.latest ?? 0, look.counts.pending ?? 0)
  if (to === undefined) {
    throw new Refusal(`The node does not show its pool: give --to NONCE. The next one in use is ${first}.`)
  }
  return Array.from({ length: Math.max(0, to - first + 1) }, (_, index) => first + index)
}

async function sendAll(
  { client }: Connection,
  account: LocalAccount,
  holes: readonly number[],
  { gas, fees }: { gas: bigint; fees: Awaited<ReturnType<typeof feesAbove>> },
) {
  const filled: { nonce: number; hash: string }[] = []
  for (const nonce of holes) {
    const plain: Plain = { nonce, to: account.address, value: 0n, data: '0x', gas }
    const { hash, taken } = await handOver(client, account, plain, fees)
    // Something waits there already, which the node did not show.
    if (!taken) filled.push({ nonce, hash })
  }
  return filled
}

const SHOWN_MAX = 8

const list = (nonces: readonly number[]): string =>
  `${nonces.slice(0, SHOWN_MAX).join(', ')}${nonces.length > SHOWN_MAX ? ', …' : ''}`
