import { Command } from 'commander'
import { type Address, formatEther, isAddress } from 'viem'
import { badOption, readCommandLine } from '../commandLine.js'
import { connect, type RpcFlags, rpcFlag, rpcUrl } from '../connect.js'
import { missingText } from '../missing.js'
import { colors, json, pairs } from '../output.js'
import { answer, EXIT, type Parsed, write } from '../program.js'
import { filesOf } from '../send/journal.js'
import { keptReasons, keptText, needsPerson } from './kept.js'
import { type Look, lookAt } from './look.js'
import { drawLane } from './picture.js'

type Options = {
  readonly address: Address
  readonly url: string
  readonly json: boolean
  /** A file of `sqliteStore`. */
  readonly store: string | undefined
}
type Flags = RpcFlags & { readonly json: boolean; readonly journal?: string; readonly store?: string }
type Environment = Readonly<Record<string, string | undefined>>

/** `txlane inspect`: the nonces of an account, as a table and a picture. Exit code 1 where something stands still. */
export function inspect(argv: readonly string[], environment: Environment): Promise<number> {
  return answer(parse(argv, environment), 'txlane inspect', run)
}

function parse(argv: readonly string[], environment: Environment): Parsed<Options> {
  const command = new Command('txlane inspect')
    .description(
      "What a node says of an account's nonces: counts under each tag, what waits in its pool, gaps, the code at the address, and what the endpoint can do. Reads only.",
    )
    .argument('<address>')
  rpcFlag(command)
    .option('--journal <file>', 'and why the lines of this file wait that txlane send was given')
    .option('--store <path>', 'and why the transactions wait that this SQLite store keeps')
    .option('--json', 'one JSON object on standard output', false)
  return readCommandLine(command, argv, (flags: Flags, [address = '']) => {
    const { json, journal, store } = flags
    if (!isAddress(address)) throw badOption('Expected an address, its checksum included.')
    if (journal !== undefined && store !== undefined) throw badOption('Give one of --journal and --store.')
    const file = journal === undefined ? store : filesOf(journal).database
    return { address, url: rpcUrl(flags, environment), json, store: file }
  })
}

async function run({ address, url, json: asJson, store }: Options): Promise<number> {
  const connection = await connect(url)
  const [look, kept] = await Promise.all([
    lookAt(connection, url, address),
    store === undefined ? undefined : keptReasons(connection, store, address),
  ])
  if (asJson) await write(json({ ...look, kept }))
  else await write(`${render(look, connection.chain.nativeCurrency.symbol)}${kept ? keptText(kept) : ''}`)
  const stands =
    look.holes.length > 0 || look.stuck !== undefined || (kept !== undefined && needsPerson(kept))
  return stands ? EXIT.failed : EXIT.held
}

function render(look: Look, symbol: string): string {
  const { counts, waiting, holes } = look
  const told = (count: number | undefined) => (count === undefined ? 'not served' : String(count))
  return [
    pairs([
      ['account', look.address],
      ['chain', look.chain],
      ['balance', `${formatEther(look.balanceWei)} ${symbol}`],
      ['code', look.code],
      ['finalized', told(counts.finalized)],
      ['safe', told(counts.safe)],
      ['latest', told(counts.latest)],
      ['pending', told(counts.pending)],
      ['in the pool', waiting === undefined ? 'the node does not show it' : String(waiting.length)],
      [
        'missing',
        waiting === undefined
          ? 'not to be seen without the pool'
          : missingText({ count: look.holesCount, lowest: holes }) || 'none',
      ],
      ['endpoint', endpointOf(look.endpoint)],
    ]),
    '\n',
    drawLane(look, colors()),
    look.stuck === undefined ? '' : `\n${look.stuck}.\n`,
    holes.length === 0 ? '' : `\nRun: txlane fill ${look.address}\n`,
  ].join('')
}

/** What is known of it, in words. The rest is found out by sending. */
function endpointOf(profile: Look['endpoint']): string {
  const { pending, pendingState, batch, blockReceipts, simulateV1, cadenceMs } = profile
  const known = [
    `pending counts ${pending === 'unknown' ? 'what is not known before something is sent' : pending}`,
    ...(pendingState === undefined ? [] : [`state at pending ${pendingState ? 'is' : 'is not'} served`]),
    ...(batch.usable ? ['batches'] : ['no batches']),
    ...(blockReceipts === undefined ? [] : [`block receipts ${blockReceipts ? 'are' : 'are not'} served`]),
    ...(simulateV1 === undefined ? [] : [`eth_simulateV1 ${simulateV1 ? 'is' : 'is not'} served`]),
    ...(cadenceMs === undefined ? [] : [`pre-confirms every ${cadenceMs} ms`]),
  ]
  return known.join(', ')
}
