import type { LocalAccount } from 'viem'
import { systemClock } from '../../../src/platform/clock.js'
import { type Connection, connect } from '../shared/connect.js'
import { openAccount } from '../shared/keys.js'
import { readPayout } from './file/payout.js'
import type { Doubt, Payout, Row } from './file/rows.js'
import type { SendOptions } from './options.js'
import { packedAttempt } from './pack/packedAttempt.js'
import { checkTokens, prepareContract, type WithContract } from './pack/packing.js'
import { readPins } from './pack/pins.js'
import {
  checkNotRenamed,
  checkSame,
  filesOf,
  type Journal,
  type JournalFiles,
  journalOf,
  namesIn,
  type Purse,
  readJournal,
} from './pay/journal.js'
import { checkPlan, planHash } from './pay/plan.js'
import { rowsToSend, type Standings } from './pay/standing.js'
import { readStandings } from './pay/stored.js'

/** The input of a run, and the results of earlier runs. */
export type Errand = {
  readonly options: SendOptions
  readonly connection: Connection
  readonly account: LocalAccount
  readonly payout: Payout
  readonly files: JournalFiles
  readonly purse: Purse & { readonly plan: string }
  /** The time of this run, in ISO 8601. */
  readonly at: string
  /** The journal of earlier runs, and the state of the lines after them. */
  readonly before: Journal | undefined
  readonly standings: Standings | undefined
  /** The contract that pays several rows in one transaction. */
  readonly contract: WithContract | undefined
}

/**
 * Reads the file and the files that earlier runs wrote beside it.
 * @throws Refusal if the file is invalid, or not the one that was shown or sent before
 */
export async function readErrand(
  options: SendOptions,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<Errand> {
  const account = await openAccount(options.key, environment)
  const connection = await connect(options.url)
  const files = filesOf(options.file)
  const before = await readJournal(files)
  // A name may have another owner by now: the payout keeps the address that it had at its start.
  const reading = { ...options.reading, names: namesIn(before), account: account.address }
  const payout = await readPayout(options.file, reading, connection)
  const { rows } = payout
  const about = { chainId: connection.chain.id, account: account.address }
  const purse = { ...about, plan: planHash(about, rows) }
  if (before) checkSame(before, journalOf(options.file, payout, purse, before.begunAt))
  else if (!options.again) await checkNotRenamed(options.file, purse, rows)
  if (!options.dryRun) await checkPlan(files, purse, rows, options.plan)
  const pins = await readPins(files.packs)
  const standings = before && (await readStandings(files, before, connection, rows, packedAttempt(pins)))
  const contract = await prepareContract(connection, account.address, options)
  if (contract && before === undefined) await checkTokens(contract, rows)
  const at = new Date(systemClock.wallNow()).toISOString()
  return { options, connection, account, payout, files, purse, at, before, standings, contract }
}

/** The rows that this run sends; the others are only followed. */
export function rowsOf({ payout, standings, options }: Errand): readonly Row[] {
  return rowsToSend(payout.rows, standings, options.retryReverted)
}

/** The doubts about these rows, and about lines that are no payments. */
export function doubtsOf({ payout }: Errand, rows: readonly Row[]): readonly Doubt[] {
  if (payout.doubts.length === 0) return []
  const doubted = new Set(payout.doubts.flatMap(({ lines }) => lines))
  const amongDoubted = (given: readonly Row[]) => {
    const lines = new Set<number>()
    for (const { line } of given) if (doubted.has(line)) lines.add(line)
    return lines
  }
  const [all, here] = [amongDoubted(payout.rows), amongDoubted(rows)]
  return payout.doubts.filter(({ lines }) => lines.some((line) => here.has(line) || !all.has(line)))
}
