import { Command } from 'commander'
import { type Address, formatEther, isAddress, type LocalAccount } from 'viem'
import { estimateGas } from 'viem/actions'
import { feesAbove, handOver, type Plain, usedBelow } from '../change/replacement.js'
import { badOption, readCommandLine, whole } from '../commandLine.js'
import { type Connection, connect, type RpcFlags, rpcFlag, rpcUrl } from '../connect.js'
import { holesOf, type Look, lookAt } from '../inspect/look.js'
import { type KeyFlags, type KeySource, keyFlags, keySource, openAccount } from '../keys.js'
import { LISTED_MAX, type Missing, missingIn, missingText } from '../missing.js'
import { count, json } from '../output.js'
import { answer, EXIT, type Parsed, Refusal, write } from '../program.js'
import { confirm } from '../terminal.js'

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
      'fill up to this one; needed where the node does not show its pool',
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
  const what = `${count(holes.length, 'transfer')} of nothing from ${address} to itself, at ${missingText({ count: holes.length, lowest: holes })}, for at most ${formatEther(costWei)} ${chain.nativeCurrency.symbol}`
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

async function missing(options: Options, connection: Connection): Promise<readonly number[]> {
  const found = missingBelow(await lookAt(connection, options.url, options.address), options.to)
  if (found.count <= LISTED_MAX) return found.lowest
  throw new Refusal(
    `The node says that ${found.count.toLocaleString('en')} nonces are missing, from ${found.lowest[0]} on: not more than ${LISTED_MAX.toLocaleString('en')} are filled at once. Name the last one to fill with --to NONCE.`,
  )
}

/** Up to `to`, where it is given. @throws Refusal where neither the pool nor `to` says where they end */
export function missingBelow(
  look: Pick<Look, 'waiting' | 'counts' | 'holes' | 'holesCount'>,
  to: number | undefined,
): Missing {
  const { waiting, counts, holes, holesCount } = look
  if (waiting !== undefined && to === undefined) return { count: holesCount, lowest: holes }
  const first = Math.max(counts.latest ?? 0, counts.pending ?? 0)
  if (to === undefined) {
    throw new Refusal(`The node does not show its pool: give --to NONCE. The next one in use is ${first}.`)
  }
  if (waiting === undefined) return missingIn(first, to + 1, [])
  return holesOf(counts.latest ?? 0, first, [
    ...waiting.filter(({ nonce }) => nonce <= to),
    { nonce: to + 1 },
  ])
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
