import { Command, Option } from 'commander'
import { type Address, isAddress } from 'viem'
import { badOption, readCommandLine } from '../shared/commandLine.js'
import { type RpcFlags, rpcFlag, rpcUrl } from '../shared/connect.js'
import { type KeyFlags, type KeySource, keyFlags, keySource } from '../shared/keys.js'
import { pairs, widthOf } from '../shared/output.js'
import type { Parsed } from '../shared/program.js'
import type { FileOptions } from './file/payout.js'

export type SendOptions = {
  readonly file: string
  readonly url: string
  readonly key: KeySource
  /** The only token of the command line. */
  readonly token: Address | undefined
  readonly reading: FileOptions
  /** Rows in one transaction; undefined for one each. */
  readonly pack: number | undefined
  readonly disperse: Address | undefined
  readonly dryRun: boolean
  readonly yes: boolean
  /** The plan that the payments must have. */
  readonly plan: string | undefined
  readonly report: boolean
  readonly again: boolean
  readonly retryReverted: boolean
  readonly json: boolean
}

type Raw = RpcFlags &
  KeyFlags & {
    readonly token?: readonly string[]
    readonly unit?: string
    readonly columns?: string
    readonly decimal?: 'point' | 'comma'
    readonly sheet?: string
    readonly pack?: string
    readonly disperse?: string
    readonly dryRun: boolean
    readonly yes: boolean
    readonly plan?: string
    readonly report: boolean
    readonly again: boolean
    readonly retryReverted: boolean
    readonly json: boolean
  }

// The width of a help text outside a terminal.
const WIDTH_MAX = 80

const COLUMNS = pairs(
  [
    ['  to', 'the recipient: an address or an ENS name; or the contract that is called'],
    [
      '  amount',
      'the amount with its unit: "0.5 ether", "20 gwei", "100 wei"; with --token "12.5 USDC", "12.5 tokens", "1 base"',
    ],
    ['  id', 'your unique id; without this column, equal lines are distinguished by counting them'],
    [
      '  token',
      'the token of the line (ERC-20), by its address, or by its symbol if --token or another line has the address',
    ],
    ['  function', 'a call: "mint(address to, uint256 amount)", with args, a JSON array; or data, as hex'],
    ['  gas', 'gas limit'],
    ['  note', 'free text'],
  ],
  Math.min(widthOf(), WIDTH_MAX),
)

const ABOUT = `Pays each line of FILE once. After a crash, run it again: no line is sent twice.

FILE is a table: CSV with any separator, a list of addresses and amounts, a spreadsheet (.xlsx, .ods), JSON, JSON Lines, or the Safe airdrop format. Its columns, by these names or similar ones (Wallet, Amount (ETH), Memo):
${COLUMNS}
Other columns are copied to the results. Nothing is guessed: a line with two readings is refused, with the remedy.

Beside FILE it keeps FILE.txlane.json (the journal of the lines), FILE.txlane.db (the transactions), FILE.txlane-plan.json (the payments that the last dry run showed), FILE.results.csv (the result of each line) and, with --pack, FILE.txlane.packs.jsonl (the lines of each transaction). Keep them together: after a crash, FILE.txlane.db-wal belongs to the database. An edited or renamed FILE is refused.`

const PLAN = /^[0-9a-f]{40}$/i

export function parseSend(
  argv: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): Parsed<SendOptions> {
  return readCommandLine(createCommand(), argv, (raw: Raw, [file = '']) => {
    const { token: tokens = [], unit, columns, decimal, sheet } = raw
    const { dryRun, yes, plan, report, again, retryReverted, json } = raw
    if (plan !== undefined && !PLAN.test(plan))
      throw badOption('--plan expects the plan that a dry run printed, 40 digits.')
    if (!tokens.every((token) => isAddress(token)))
      throw badOption('--token expects an address, its checksum included.')
    return {
      file,
      url: rpcUrl(raw, environment),
      key: keySource(raw),
      token: tokens.length === 1 ? tokens[0] : undefined,
      reading: { tokens, unit, columns, decimal, sheet },
      ...packFlags(raw),
      dryRun,
      yes,
      plan: plan?.toLowerCase(),
      report,
      again,
      retryReverted,
      json,
    }
  })
}

function packFlags({ pack, disperse }: Raw): Pick<SendOptions, 'pack' | 'disperse'> {
  if (pack !== undefined && !/^[1-9]\d{0,8}$/.test(pack))
    throw badOption(
      `--pack expects the number of lines in one transaction, for example 100, and got "${pack}".`,
    )
  if (disperse !== undefined && !isAddress(disperse))
    throw badOption('--disperse expects an address, its checksum included.')
  const size = pack === undefined || pack === '1' ? undefined : Number(pack)
  if (disperse !== undefined && size === undefined)
    throw badOption('--disperse ADDRESS is the contract of --pack N: give both.')
  return { pack: size, disperse }
}

function createCommand(): Command {
  const command = new Command('txlane send').description(ABOUT).argument('<file>', 'the table of payments')
  keyFlags(rpcFlag(command))
    .option(
      '--token <address>',
      'pay in this token (ERC-20); repeated, the tokens that a token column names by symbol',
      (token: string, before: readonly string[] = []) => [...before, token],
    )
    .option('--unit <name>', 'the unit of amounts without a unit: ether, gwei, wei, tokens, base')
    .option('--columns <list>', 'the meaning of columns, by name or position: "to=Wallet,amount=3"')
    .addOption(new Option('--decimal <mark>', 'the decimal mark of amounts').choices(['point', 'comma']))
    .option('--sheet <name>', 'the sheet of a spreadsheet that has several')
    .option('--pack <lines>', 'pay so many lines in one transaction, through a disperse contract')
    .option('--disperse <address>', 'the disperse contract of --pack (default: the published one)')
    .option('--dry-run', 'check everything, show totals and fees, and send nothing', false)
    .option('--yes', 'skip the confirmation', false)
    .option('--plan <hash>', 'send only if the payments are those of this dry run')
    .option('--report', 'also make a page and an accounting file, as txlane report FILE does', false)
    .option('--again', 'send although most of the lines were sent from another file', false)
    .option('--retry-reverted', 'send reverted lines again', false)
    .option('--json', 'one JSON object on standard output', false)
  return command
}
