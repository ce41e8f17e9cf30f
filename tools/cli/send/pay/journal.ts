import { existsSync } from 'node:fs'
import { open, readdir, readFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { Address, Hash, Hex } from 'viem'
import { keccak } from '../../shared/keccak.js'
import { count } from '../../shared/output.js'
import { Refusal } from '../../shared/program.js'
import { exactAmount, moneyKey } from '../file/amountText.js'
import type { Money, Payout, Row } from '../file/rows.js'
import { differencesOf, differenceText, type LineText } from './difference.js'
import type { RowResult } from './results.js'
import { unmovedKey } from './transfers.js'
import { jsonLines, replaceFile } from './writeFile.js'

/**
 * State of a file when it was first sent, stored beside the file. The database has the transactions. The
 * journal says which lines they belong to, so that a changed file is not mistaken for the original one.
 */
export type Journal = {
  readonly file: string
  readonly chainId: number
  readonly account: Address
  readonly begunAt: string
  /** The transactions that the account had executed before. @default unknown */
  readonly sentBefore?: number
  /** False until the database exists: nothing was signed before. @default true */
  readonly opened?: boolean
  /** Rows may share transactions: the file of the packs belongs to the journal. */
  readonly packed?: true
  /** Rows whose transaction succeeded without moving their token. */
  readonly unmoved?: readonly { readonly id: string; readonly hash: Hash }[]
} & (FirstVersion | SecondVersion)

/** A journal of txlane 0.1: one currency for the whole file. */
type FirstVersion = {
  readonly version: 1
  readonly token: Address | undefined
  readonly rows: readonly LineText[]
}

type SecondVersion = {
  readonly version: 2
  /** The hash of the payments: see `planHash`. */
  readonly plan: string
  /** The columns as the file names them. */
  readonly columns: readonly string[]
  readonly tokens: readonly {
    readonly address: Address
    readonly symbol: string
    readonly decimals: number
  }[]
  readonly rows: readonly JournalRow[]
}

export type JournalRow = LineText & {
  readonly to: Address
  /** The name in the file. It was resolved to `to` once, and is never resolved again. */
  readonly name?: string | undefined
  /** The amount in the smallest unit. */
  readonly amount: string
  readonly token?: Address | undefined
  readonly cells: readonly string[]
}

export type JournalV2 = Extract<Journal, { readonly version: 2 }>

export type JournalFiles = {
  readonly journal: string
  readonly database: string
  readonly results: string
  readonly plan: string
  /** The packs: which rows share a transaction. */
  readonly packs: string
  readonly lock: string
}

export const JOURNAL_ENDING = '.txlane.json'
export const RESULTS_ENDING = '.results.csv'

export function filesOf(path: string): JournalFiles {
  return {
    journal: `${path}${JOURNAL_ENDING}`,
    database: `${path}.txlane.db`,
    results: `${path}${RESULTS_ENDING}`,
    plan: `${path}.txlane-plan.json`,
    packs: `${path}.txlane.packs.jsonl`,
    lock: `${path}.txlane.lock`,
  }
}

/** The account, the chain and the plan of a payout. */
export type Purse = Pick<Journal, 'chainId' | 'account'>

export function journalOf(
  path: string,
  { columns, rows }: Pick<Payout, 'columns' | 'rows'>,
  about: Purse & { readonly plan: string },
  begunAt: string,
): JournalV2 {
  return {
    version: 2,
    file: basename(path),
    ...about,
    begunAt,
    columns,
    tokens: tokensOf(rows),
    rows: rows.map(journalRow),
  }
}

function tokensOf(rows: readonly Row[]): JournalV2['tokens'] {
  const found = new Map<string, Money>()
  for (const { money } of rows) found.set(moneyKey(money), money)
  return [...found.values()].flatMap((money) =>
    money.kind === 'token'
      ? [{ address: money.address, symbol: money.symbol, decimals: money.decimals }]
      : [],
  )
}

function journalRow(row: Row): JournalRow {
  const { to, name, amount, money, cells } = row
  return {
    ...lineText(row, contentOf(row.request)),
    to,
    ...(name === undefined ? {} : { name }),
    amount: `${amount}`,
    ...(money.kind === 'token' ? { token: money.address } : {}),
    cells,
  }
}

/** The text of a line for comparisons with another version of its file. */
export function lineText({ line, id, to, name, amount, money }: Row, content: Hex): LineText {
  const shown = `${exactAmount(amount, money)} to ${name === undefined ? to : `${name} (${to})`}`
  return { line, id, shown, content }
}

function contentOf({ to, value, data }: Row['request']): Hex {
  const text = `${to} ${value} ${data ?? '0x'}`.toLowerCase()
  return `0x${Buffer.from(keccak(Buffer.from(text))).toString('hex')}`
}

/** Writes the journal, and syncs it to disk before any transaction is sent. */
export function writeJournal({ journal: path }: JournalFiles, { rows, ...head }: Journal): Promise<void> {
  return replaceFile(path, jsonLines(head, 'rows', rows))
}

const [UNOPENED, OPENED] = ['"opened": false', '"opened": true ']
const HEAD_BYTES = 1_024

/**
 * Says that the database exists, synced to disk before the first transaction is signed. The journal is changed in
 * place, because that of a large file is too long to be written once more.
 */
export async function markOpened({ journal: path }: JournalFiles, journal: Journal): Promise<Journal> {
  if (journal.opened !== false) return journal
  const file = await open(path, 'r+')
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0)
    const head = buffer.subarray(0, bytesRead)
    const at = head.indexOf(UNOPENED)
    // Another process may have said it meanwhile.
    if (at < 0 && !head.includes(OPENED)) throw new Error(`${path} was changed during the run.`)
    if (at >= 0) await file.write(OPENED, at)
    await file.sync()
  } finally {
    await file.close()
  }
  return { ...journal, opened: true }
}

/** The rows that earlier runs found unmoved, by `unmovedKey`. */
export function unmovedIn(journal: Pick<Journal, 'unmoved'> | undefined): ReadonlySet<string> {
  return new Set(journal?.unmoved?.map(({ id, hash }) => unmovedKey(id, hash)))
}

/** Adds rows that were found unmoved to the journal. A node may be unable to show it later. */
export async function keepUnmoved(
  files: JournalFiles,
  journal: Journal,
  results: readonly RowResult[],
): Promise<void> {
  const known = unmovedIn(journal)
  const found = results.flatMap(({ row: { id }, status, hash }) =>
    status === 'unmoved' && hash !== undefined && !known.has(unmovedKey(id, hash)) ? [{ id, hash }] : [],
  )
  if (found.length > 0)
    await writeJournal(files, { ...journal, unmoved: [...(journal.unmoved ?? []), ...found] })
}

/**
 * Reads the journal of an earlier run, which may have ended before it created the database. @throws Refusal if
 * one of the two files is missing otherwise, or invalid
 */
export async function readJournal(files: JournalFiles): Promise<Journal | undefined> {
  const [hasJournal, hasDatabase] = [existsSync(files.journal), existsSync(files.database)]
  const rest = [files.database, files.packs].find((path) => existsSync(path))
  if (!hasJournal && rest === undefined) return undefined
  if (!hasJournal) throw new Refusal(`${rest} exists but ${files.journal} is missing: restore it.`)
  const journal = parseJournal(await readFile(files.journal, 'utf8'))
  if (journal === undefined) throw new Refusal(`${files.journal} is not a journal of txlane.`)
  if (journal.packed && !existsSync(files.packs))
    throw new Refusal(
      `${files.packs} is missing: it says which lines were paid in which transaction. Restore it.`,
    )
  const isUnopened = journal.opened === false && journal.sentBefore !== undefined
  if (hasDatabase || isUnopened) return journal
  throw new Refusal(
    `${files.journal} says that this file was sent on ${journal.begunAt}, but ${files.database}, which records the payments, is missing. Restore it. If you know that no line was paid, remove ${files.journal}.`,
  )
}

export function parseJournal(text: string): Journal | undefined {
  try {
    const read = JSON.parse(text) as Partial<Journal>
    return (read.version === 1 || read.version === 2) && Array.isArray(read.rows)
      ? (read as Journal)
      : undefined
  } catch {
    return undefined
  }
}

/** The addresses of the names that earlier runs resolved. */
export function namesIn(journal: Journal | undefined): ReadonlyMap<string, Address> {
  const names = new Map<string, Address>()
  if (journal?.version !== 2) return names
  for (const { name, to } of journal.rows) if (name !== undefined) names.set(name, to)
  return names
}

/** @throws Refusal with the differences if this is not the file, the account or the chain of the journal */
export function checkSame(journal: Journal, now: JournalV2): void {
  const { file, chainId, account, begunAt } = journal
  if (file !== now.file)
    throw new Refusal(
      `${now.file}${JOURNAL_ENDING} is the journal of ${file}, and not of ${now.file}: rename it back, together with its database.`,
    )
  if (chainId !== now.chainId)
    throw new Refusal(
      `${file} was sent on ${begunAt} on chain ${chainId}, and the node is one of chain ${now.chainId}: give --rpc with a node of chain ${chainId}.`,
    )
  if (account.toLowerCase() !== now.account.toLowerCase())
    throw new Refusal(
      `${file} was sent on ${begunAt} from ${account}, and the key is that of ${now.account}: give the key of ${account}.`,
    )
  const lines = differencesOf(journal.rows, now.rows)
  if (lines.length === 0) return
  throw new Refusal(
    [
      `${now.file} was sent on ${begunAt}, and has changed since:`,
      differenceText(lines),
      'Restore it to continue. Put new lines into a separate file.',
    ].join('\n'),
  )
}

// Share of common lines from which two files count as the same file.
const SAME_SHARE = 0.5

/**
 * @throws Refusal if a journal in the same folder shows that most of the lines were sent under another file
 * name
 */
export async function checkNotRenamed(path: string, purse: Purse, rows: readonly Row[]): Promise<void> {
  const folder = dirname(path)
  const file = basename(path)
  const journals = (await readdir(folder)).filter(
    (name) => name.endsWith(JOURNAL_ENDING) && name !== `${file}${JOURNAL_ENDING}`,
  )
  for (const name of journals) {
    const other = parseJournal(await readFile(join(folder, name), 'utf8'))
    if (other === undefined || other.chainId !== purse.chainId || other.account !== purse.account) continue
    const same = shared(other, rows)
    if (same < SAME_SHARE * Math.min(other.rows.length, rows.length)) continue
    const gone = !existsSync(join(folder, other.file))
    throw new Refusal(
      `${count(same, 'line')} of ${file} ${same === 1 ? 'was' : 'were'} sent as ${other.file} on ${other.begunAt} (${name}). ${
        gone ? `If it is the same file, rename it back to ${other.file}.` : ''
      } To pay them once more, add --again.`.replace('  ', ' '),
    )
  }
}

/** Number of common lines; repeated lines count as often as both files have them. */
function shared(a: Journal, rows: readonly Row[]): number {
  const left = new Map<Hex, number>()
  for (const { content } of a.rows) left.set(content, (left.get(content) ?? 0) + 1)
  let same = 0
  for (const { request } of rows) {
    const content = contentOf(request)
    const there = left.get(content) ?? 0
    if (there === 0) continue
    left.set(content, there - 1)
    same++
  }
  return same
}
