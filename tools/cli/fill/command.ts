import { Command } from 'commander'
import { type Address, formatEther, isAddress, type LocalAccount } from 'viem'
import { estimateGas } from 'viem/actions'
import { feesAbove, handOver, type Plain, usedBelow } from '../change/replacement.js'
import { holesOf, type Look, lookAt } from '../inspect/look.js'
import { badOption, readCommandLine, whole } from '../shared/commandLine.js'
import { type Connection, connect, type RpcFlags, rpcFlag, rpcUrl } from '../shared/connect.js'
import { type KeyFlags, type KeySource, keyFlags, keySource, openAccount } from '../shared/keys.js'
import { LISTED_MAX, type Missing, missingIn, missingText } from '../shared/missing.js'
import { count, json, wrapped } from '../shared/output.js'
import { answer, EXIT, type Parsed, Refusal, write } from '../shared/program.js'
import { confirm } from '../shared/terminal.js'

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

/** `txlane fill`: sends a transfer of zero value to the account itself at every missing nonce. */
export function fill(argv: readonly string[], environment: Environment): Promise<number> {
  return answer(parse(argv, environment), 'txlane fill', (options) => run(options, environment))
}

function parse(argv: readonly string[], environment: Environment): Parsed<Options> {
  const command = new Command('txlane fill')
    .description(
      'Fills nonce gaps that other tools left in an account: it sends a transfer of 0 to the account itself at each. It does not know about txlane senders that use the same key elsewhere: those fill their own gaps.',
    )
    .argument('<address>', 'the account')
  keyFlags(rpcFlag(command))
    .option(
      '--to <nonce>',
      'fill up to this nonce; required if the node does not show its pool',
      whole(0, Number.MAX_SAFE_INTEGER),
    )
    .option('--dry-run', 'print the plan, and send nothing', false)
    .option('--yes', 'skip the confirmation', false)
    .option('--timeout <seconds>', 'time to wait for the blocks', whole(1, 86_400), 120)
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
    await write(options.json ? json({ address, filled: [] }) : 'No nonce is missing.\n')
    return EXIT.held
  }
  const { client, chain } = connection
  const [fees, gas] = await Promise.all([
    feesAbove(client, undefined, undefined),
    estimateGas(client, { account: address, to: address, value: 0n }),
  ])
  const costWei = fees.maxFeePerGas * gas * BigInt(holes.length)
  const what = `${count(holes.length, 'transfer')} of 0 from ${address} to itself, at ${missingText({ count: holes.length, lowest: holes })}, for at most ${formatEther(costWei)} ${chain.nativeCurrency.symbol}`
  if (options.dryRun) {
    await write(
      options.json
        ? json({ address, missing: holes, costWei, dryRun: true })
        : `${wrapped(`Would send ${what}.`)}\n`,
    )
    return EXIT.held
  }
  const account = await openAccount(options.key, environment)
  if (account.address !== address)
    throw new Refusal(`The key is that of ${account.address}, not of ${address}.`)
  if (!options.yes && !(await confirm(`Send ${what}?`, '--yes'))) return EXIT.refused
  const filled = await sendAll(connection, account, holes, { gas, fees })
  const done = await usedBelow(client, address, (holes.at(-1) ?? 0) + 1, options.timeoutMs)
  const sentence = done
    ? 'The gaps are filled.'
    : 'Sent, but not all transfers are in a block yet: check again with txlane inspect.'
  await write(options.json ? json({ address, filled, sealed: done }) : `${wrapped(sentence)}\n`)
  return done ? EXIT.held : EXIT.failed
}

async function missing(options: Options, connection: Connection): Promise<readonly number[]> {
  const found = missingBelow(await lookAt(connection, options.url, options.address), options.to)
  if (found.count <= LISTED_MAX) return found.lowest
  throw new Refusal(
    `According to the node, ${found.count.toLocaleString('en')} nonces are missing, from ${found.lowest[0]} on. At most ${LISTED_MAX.toLocaleString('en')} are filled at once: give the last one with --to NONCE.`,
  )
}

/** The missing nonces up to `to`, or below the highest pooled nonce. @throws Refusal if neither is known */
export function missingBelow(
  look: Pick<Look, 'waiting' | 'counts' | 'holes' | 'holesCount'>,
  to: number | undefined,
): Missing {
  const { waiting, counts, holes, holesCount } = look
  if (waiting !== undefined && to === undefined) return { count: holesCount, lowest: holes }
  const first = Math.max(counts.latest ?? 0, counts.pending ?? 0)
  if (to === undefined) {
    throw new Refusal(`The node does not show its pool: give --to NONCE. The next free nonce is ${first}.`)
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
    // A transaction that the node did not show already waits there.
    if (!taken) filled.push({ nonce, hash })
  }
  return filled
}
