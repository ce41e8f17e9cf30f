import { Command } from 'commander'
import { type Address, formatEther, isAddress } from 'viem'
import type { EndpointProfile } from '../../../src/rpc/profile.js'
import type { Store } from '../../../src/types/store.js'
import { filesOf } from '../send/pay/journal.js'
import { badOption, readCommandLine } from '../shared/commandLine.js'
import { type Connection, connect, type RpcFlags, rpcFlag, rpcUrl } from '../shared/connect.js'
import { missingText } from '../shared/missing.js'
import { type Colors, colors, count, json, lengthOf, pairs, widthOf, wrapped } from '../shared/output.js'
import { answer, EXIT, type Parsed, write } from '../shared/program.js'
import { DEFAULT_SCHEMA, isDatabase, readStore, type StorePlace, storeName } from '../shared/readStore.js'
import { type Look, lookAt } from './look.js'
import { countersText, storedCounters } from './storedCounters.js'
import { needsPerson, storedReasons, storedText } from './storedReasons.js'

type Options = {
  readonly address: Address
  readonly url: string
  readonly json: boolean
  readonly store: StorePlace | undefined
}
type Flags = RpcFlags & {
  readonly json: boolean
  readonly journal?: string
  readonly store?: string
  readonly schema?: string
}
type Environment = Readonly<Record<string, string | undefined>>

/**
 * `txlane inspect`: shows the nonces of an account as a table and a picture. Exit code 1 if a transaction is
 * stuck.
 */
export function inspect(argv: readonly string[], environment: Environment): Promise<number> {
  return answer(parse(argv, environment), 'txlane inspect', run)
}

function parse(argv: readonly string[], environment: Environment): Parsed<Options> {
  const command = new Command('txlane inspect')
    .description(
      "Shows an account's nonces as a node reports them: counts for each tag, pending transactions, gaps, the code at the address, and the features of the endpoint. Read-only.",
    )
    .argument('<address>', 'the account')
  rpcFlag(command)
    .option('--journal <file>', 'also show why lines of this file of txlane send wait')
    .option(
      '--store <place>',
      'also show why transactions in this SQLite file or PostgreSQL database wait, and its nonces of contracts',
    )
    .option('--schema <name>', `the schema of the store in that database (default: ${DEFAULT_SCHEMA})`)
    .option('--json', 'one JSON object on standard output', false)
  return readCommandLine(command, argv, (flags: Flags, [address = '']) => {
    const { json, journal, store, schema = DEFAULT_SCHEMA } = flags
    if (!isAddress(address)) throw badOption('Expected an address, its checksum included.')
    if (journal !== undefined && store !== undefined) throw badOption('Give one of --journal and --store.')
    if (flags.schema !== undefined && !isDatabase(store ?? ''))
      throw badOption('--schema is for --store with the URL of a database (postgres://…).')
    const at = journal === undefined ? store : filesOf(journal).database
    return {
      address,
      url: rpcUrl(flags, environment),
      json,
      store: at === undefined ? undefined : { at, schema },
    }
  })
}

async function run({ address, url, json: asJson, store }: Options): Promise<number> {
  const connection = await connect(url)
  const [look, stored] = await Promise.all([
    lookAt(connection, url, address),
    store === undefined ? undefined : readStore(store, (each) => storedIn(each, store, connection, address)),
  ])
  if (asJson) await write(json({ ...look, stored }))
  else {
    const kept = stored === undefined ? '' : storedText(stored) + countersText(stored.store, stored.counters)
    await write(`${render(look, connection.chain.nativeCurrency.symbol)}${kept}`)
  }
  const stands =
    look.holes.length > 0 || look.stuck !== undefined || (stored !== undefined && needsPerson(stored))
  return stands ? EXIT.failed : EXIT.held
}

async function storedIn(store: Store, place: StorePlace, connection: Connection, address: Address) {
  const [reasons, counters] = await Promise.all([
    storedReasons(store, { connection, address, name: storeName(place) }),
    storedCounters(store, connection),
  ])
  return { ...reasons, counters }
}

function render(look: Look, symbol: string): string {
  const { counts, waiting, holes } = look
  const shown = (next: number | undefined) => (next === undefined ? 'not served' : `next nonce ${next}`)
  return [
    pairs([
      ['account', look.address],
      ['chain', look.chain],
      ['balance', `${formatEther(look.balanceWei)} ${symbol}`],
      ['code', look.code],
      ['finalized', shown(counts.finalized)],
      ['safe', shown(counts.safe)],
      ['latest', shown(counts.latest)],
      ['pending', shown(counts.pending)],
      ['in the pool', waiting === undefined ? 'the node does not show it' : String(waiting.length)],
      [
        'missing',
        waiting === undefined
          ? 'unknown without the pool'
          : missingText({ count: look.holesCount, lowest: holes }) || 'none',
      ],
      ['endpoint', endpointOf(look.endpoint)],
    ]),
    '\n',
    drawLane(look, colors()),
    look.stuck === undefined
      ? ''
      : `\n${wrapped(`${look.stuck[0]?.toUpperCase()}${look.stuck.slice(1)}.`)}\n`,
    holes.length === 0 ? '' : `\nRun: txlane fill ${look.address}\n`,
  ].join('')
}

/** The known features of the endpoint, as sentences. The others become known when transactions are sent. */
function endpointOf(profile: Look['endpoint']): string {
  return Object.values(profileWords)
    .map((word) => word(profile))
    .filter((word) => word !== undefined)
    .map((sentence) => `${sentence}.`)
    .join(' ')
}

const isServed = (what: string, is: boolean | undefined) =>
  is === undefined ? undefined : `It ${is ? 'serves' : 'does not serve'} ${what}`

const PENDING: Readonly<Record<EndpointProfile['pending'], string>> = {
  mempool: 'Its count at pending includes the pool',
  preconfirmed: 'Its count at pending includes pre-confirmed transactions, and not the pool',
  latest: 'Its count at pending is that at latest',
  absent: 'It has no tag pending',
  unknown: 'The first transaction will show whether its count at pending includes the pool',
}

/** The sentence for each field of a profile; undefined while it is not known. */
export const profileWords: {
  readonly [field in keyof EndpointProfile]: (profile: EndpointProfile) => string | undefined
} = {
  client: ({ client }) => client,
  pending: ({ pending }) => PENDING[pending],
  pendingState: ({ pendingState }) => isServed('state at pending', pendingState),
  batch: ({ batch: { usable, sizeMax } }) => {
    if (usable === undefined) return undefined
    return `It accepts ${usable ? `batches${sizeMax === undefined ? '' : ` of up to ${count(sizeMax, 'call')}`}` : 'no batches'}`
  },
  blockReceipts: ({ blockReceipts }) => isServed('block receipts', blockReceipts),
  simulateV1: ({ simulateV1 }) => isServed('eth_simulateV1', simulateV1),
  sendSync: ({ sendSync }) =>
    isServed(
      `eth_sendRawTransactionSync${sendSync === 'withoutTimeout' ? ', without a timeout of the caller' : ''}`,
      sendSync && true,
    ),
  gapBudget: ({ gapBudget }) =>
    gapBudget === undefined ? undefined : `It keeps ${count(gapBudget, 'transaction')} above a missing nonce`,
  batchInOrder: ({ batchInOrder }) =>
    batchInOrder === undefined ? undefined : `It runs a batch ${batchInOrder ? 'in order' : 'in any order'}`,
  delivery: ({ delivery: { window, pool, batch } }) => {
    const takes = [
      window === undefined ? [] : `${count(window, 'nonce')} without an answer`,
      pool === undefined ? [] : `${count(pool, 'nonce')} without a block`,
      batch === undefined ? [] : `${count(batch, 'call')} in one request of transactions`,
    ].flat()
    return takes.length === 0 ? undefined : `It takes ${takes.join(', ')}`
  },
  singleSequencer: ({ singleSequencer }) => (singleSequencer ? 'The chain has one sequencer' : undefined),
}

type Cell = { readonly nonce: number; readonly kind: keyof typeof KINDS }

// Each kind has its own sign, so that the picture is also readable without colours.
const KINDS = {
  used: { sign: '█', says: 'in a sealed block' },
  preconfirmed: { sign: '▓', says: 'pre-confirmed' },
  waiting: { sign: '▒', says: 'waits in the pool' },
  gapped: { sign: '░', says: 'waits behind a gap' },
  hole: { sign: '×', says: 'missing' },
  next: { sign: '·', says: 'next' },
} as const

const BEFORE = 4
const CELLS_MAX = 64

/** The nonces around the head, one cell each. */
export function drawLane(look: Look, colors: Colors, width = widthOf()): string {
  const all = cellsOf(look)
  if (all.every(({ kind }) => kind === 'next'))
    return `The account has sent nothing yet: its next nonce is ${all[0]?.nonce}.\n`
  const paint: Record<Cell['kind'], (text: string) => string> = {
    used: colors.green,
    preconfirmed: colors.cyan,
    waiting: colors.yellow,
    gapped: colors.magenta,
    hole: colors.red,
    next: colors.dim,
  }
  // The nonces at both ends have as many digits as the highest one.
  const room = width - 2 * (String(all.at(-1)?.nonce).length + 1)
  const cells = all.slice(0, Math.max(1, room))
  const line = cells.map(({ kind }) => paint[kind](KINDS[kind].sign)).join('')
  const kinds = [...new Set(cells.map(({ kind }) => kind))]
  const legend = kinds.map((kind) => `${paint[kind](KINDS[kind].sign)} ${KINDS[kind].says}`)
  return `${cells[0]?.nonce} ${line} ${cells.at(-1)?.nonce}\n${legendText(legend, width)}\n`
}

function legendText([first = '', ...others]: readonly string[], width: number): string {
  const lines = [first]
  for (const entry of others) {
    const longer = `${lines.at(-1)}   ${entry}`
    if (lengthOf(longer) > width) lines.push(entry)
    else lines[lines.length - 1] = longer
  }
  return lines.join('\n')
}

/** From a few nonces below the head to the first free one, or as many as fit. */
function cellsOf({ counts, waiting = [], holes }: Look): readonly Cell[] {
  const latest = counts.latest ?? 0
  const pending = Math.max(latest, counts.pending ?? latest)
  const there = new Set(waiting.map(({ nonce }) => nonce))
  const missing = new Set(holes)
  const lowest = Math.min(...missing, Number.POSITIVE_INFINITY)
  const end = Math.max(pending, (waiting.at(-1)?.nonce ?? -1) + 1)
  const first = Math.max(0, latest - BEFORE)
  const kindOf = (nonce: number): Cell['kind'] => {
    if (nonce < latest) return 'used'
    if (missing.has(nonce)) return 'hole'
    if (there.has(nonce)) return nonce > lowest ? 'gapped' : 'waiting'
    return nonce < pending ? 'preconfirmed' : 'next'
  }
  const length = Math.min(CELLS_MAX, end - first + 1)
  return Array.from({ length }, (_, index) => ({ nonce: first + index, kind: kindOf(first + index) }))
}
