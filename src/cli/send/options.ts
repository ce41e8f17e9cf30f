import { Command } from 'commander'
import { type Address, isAddress } from 'viem'
import { badOption, readCommandLine } from '../commandLine.js'
import { type RpcFlags, rpcFlag, rpcUrl } from '../connect.js'
import { type KeyFlags, type KeySource, keyFlags, keySource } from '../keys.js'
import type { Parsed } from '../program.js'

export type SendOptions = {
  readonly file: string
  readonly url: string
  readonly key: KeySource
  readonly token: Address | undefined
  readonly unit: string | undefined
  readonly dryRun: boolean
  readonly yes: boolean
  readonly again: boolean
  readonly retryReverted: boolean
  readonly json: boolean
}

type Raw = RpcFlags &
  KeyFlags & {
    readonly token?: string
    readonly unit?: string
    readonly dryRun: boolean
    readonly yes: boolean
    readonly again: boolean
    readonly retryReverted: boolean
    readonly json: boolean
  }

const ABOUT = `Pays each line of FILE once: run it again after a crash, and what was sent is not sent twice.

FILE is CSV whose first line names the columns, or JSON Lines (.jsonl):
  id        yours, unique; without the column, equal lines are told apart by counting them
  to        who is paid, or the contract that is called
  amount    with its unit: "0.5 ether", "20 gwei", "100 wei"; with --token "12.5 USDC", "12.5 tokens", "1 base"
  function  a call: "mint(address to, uint256 amount)", with args, a JSON array; or data, as hex
  gas       a limit of your own
  note      for you

Beside FILE it keeps FILE.txlane.json (what the lines were), FILE.txlane.db (what was sent) and FILE.results.csv
(what became of each line). Keep them together. A FILE that was edited or renamed is refused.`

export function parseSend(
  argv: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): Parsed<SendOptions> {
  return readCommandLine(createCommand(), argv, (raw: Raw, [file = '']) => {
    const { token, unit, dryRun, yes, again, retryReverted, json } = raw
    if (token !== undefined && !isAddress(token))
      throw badOption('--token expects an address, its checksum included.')
    return {
      file,
      url: rpcUrl(raw, environment),
      key: keySource(raw),
      token,
      unit,
      dryRun,
      yes,
      again,
      retryReverted,
      json,
    }
  })
}

function createCommand(): Command {
  const command = new Command('txlane send').description(ABOUT).argument('<file>', 'CSV or JSON Lines')
  keyFlags(rpcFlag(command))
    .option('--token <address>', 'pay in this token (ERC-20)')
    .option(
      '--unit <name>',
      'the unit of amounts that have none of their own: ether, gwei, wei, tokens, base',
    )
    .option('--dry-run', 'check everything, show totals and fees, and send nothing', false)
    .option('--yes', 'do not ask', false)
    .option('--again', 'although most of the lines were sent from another file', false)
    .option('--retry-reverted', 'send lines anew that were executed and reverted', false)
    .option('--json', 'one JSON object on standard output', false)
  return command
}
