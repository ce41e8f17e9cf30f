import { existsSync } from 'node:fs'
import { open, readdir, readFile, rename } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { type Address, type Hex, keccak256, stringToHex } from 'viem'
import { count } from '../../shared/output.js'
import { Refusal } from '../../shared/program.js'
import type { Row } from '../file/rows.js'

/**
 * State of a file when it was first sent, stored beside the file. The database has the transactions. The
 * journal says which lines they belong to, so that a changed file is not mistaken for the original one.
 */
export type Journal = {
  readonly version: 1
  readonly file: string
  readonly chainId: number
  readonly account: Address
  readonly token: Address | undefined
  readonly begunAt: string
  readonly rows: readonly JournalRow[]
  /** Rows may share transactions: the file of the packs belongs to the journal. */
  readonly packed?: true
}

type JournalRow = {
  readonly line: number
  readonly id: string
  readonly shown: string
  readonly content: Hex
}

export type JournalFiles = {
  readonly journal: string
  readonly database: string
  readonly results: string
  /** The packs: which rows share a transaction. */
  readonly packs: string
  readonly lock: string
}

const ENDING = '.txlane.json'

export function filesOf(path: string): JournalFiles {
  return {
    journal: `${path}${ENDING}`,
    database: `${path}.txlane.db`,
    results: `${path}.results.csv`,
    packs: `${path}.txlane.packs.jsonl`,
    lock: `${path}.txlane.lock`,
  }
}

export function journalOf(
  path: string,
  rows: readonly Row[],
  about: Pick<Journal, 'chainId' | 'account' | 'token'>,
  now: Date,
): Journal {
  return {
    version: 1,
    file: basename(path),
    ...about,
    begunAt: now.toISOString(),
    rows: rows.map(journalRow),
  }
}

function journalRow({ line, id, to, amount, request }: Row): JournalRow {
  const content = keccak256(
    stringToHex(`${request.to} ${request.value} ${request.data ?? '0x'}`.toLowerCase()),
  )
  return { line, id, shown: `${amount} to ${to}`, content }
}

/** Writes the journal atomically, and syncs it to disk before any transaction is sent. */
export async function writeJournal({ journal: path }: JournalFiles, journal: Journal): Promise<void> {
  const part = `${path}.part`
  const file = await open(part, 'w', 0o600)
  try {
    await file.writeFile(`${JSON.stringify(journal, undefined, 1)}\n`)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(part, path)
}

/** Reads the journal of an earlier run. @throws Refusal if one of the two files is missing or invalid */
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
  if (hasDatabase) return journal
  throw new Refusal(
    `${files.journal} says that this file was sent on ${journal.begunAt}, but ${files.database}, which records the payments, is missing. Restore it. If you know that no line was paid, remove ${files.journal}.`,
  )
}

function parseJournal(text: string): Journal | undefined {
  try {
    const read = JSON.parse(text) as Partial<Journal>
    return read.version === 1 && Array.isArray(read.rows) ? (read as Journal) : undefined
  } catch {
    return undefined
  }
}

const SHOWN_MAX = 10

/** @throws Refusal with the differences if the file is not the one of the journal */
export function checkSame(journal: Journal, now: Journal): void {
  const about = (['file', 'chainId', 'account', 'token'] as const).filter(
    (name) => String(journal[name]).toLowerCase() !== String(now[name]).toLowerCase(),
  )
  const [before, after] = [byId(journal), byId(now)]
  const lines = [
    ...about.map((name) => `  ${name}: was ${journal[name] ?? 'none'}, is ${now[name] ?? 'none'}`),
    ...journal.rows
      .filter(({ id }) => !after.has(id))
      .map((row) => `  gone: line ${row.line}, ${row.shown} (${row.id})`),
    ...now.rows
      .filter(({ id }) => !before.has(id))
      .map((row) => `  new: line ${row.line}, ${row.shown} (${row.id})`),
    ...now.rows.flatMap((row) => {
      const was = before.get(row.id)
      if (was === undefined || was.content === row.content) return []
      return [`  changed: line ${row.line} (${row.id}), was ${was.shown}, is ${row.shown}`]
    }),
  ]
  if (lines.length === 0) return
  const more = lines.length > SHOWN_MAX ? [`  … and ${lines.length - SHOWN_MAX} more`] : []
  throw new Refusal(
    [
      `${now.file} was sent on ${journal.begunAt}, and has changed since:`,
      ...lines.slice(0, SHOWN_MAX),
      ...more,
      'Restore it to continue. Put new lines into a separate file.',
    ].join('\n'),
  )
}

const byId = ({ rows }: Journal) => new Map(rows.map((row) => [row.id, row]))

// Share of common lines from which two files count as the same file.
const SAME_SHARE = 0.5

/**
 * @throws Refusal if a journal in the same folder shows that most of the lines were sent under another file
 * name
 */
export async function checkNotRenamed(path: string, now: Journal): Promise<void> {
  const folder = dirname(path)
  const journals = (await readdir(folder)).filter(
    (name) => name.endsWith(ENDING) && name !== `${now.file}${ENDING}`,
  )
  for (const name of journals) {
    const other = parseJournal(await readFile(join(folder, name), 'utf8'))
    if (other === undefined || !isSamePurse(other, now)) continue
    const same = shared(other, now)
    if (same < SAME_SHARE * Math.min(other.rows.length, now.rows.length)) continue
    const gone = !existsSync(join(folder, other.file))
    throw new Refusal(
      `${count(same, 'line')} of ${now.file} ${same === 1 ? 'was' : 'were'} sent as ${other.file} on ${other.begunAt} (${name}). ${
        gone ? `If it is the same file, rename it back to ${other.file}.` : ''
      } To pay them once more, add --again.`.replace('  ', ' '),
    )
  }
}

const isSamePurse = (a: Journal, b: Journal) =>
  a.chainId === b.chainId && a.account === b.account && (a.token ?? '') === (b.token ?? '')

/** Number of common lines; repeated lines count as often as both files have them. */
function shared(a: Journal, b: Journal): number {
  const left = new Map<Hex, number>()
  for (const { content } of a.rows) left.set(content, (left.get(content) ?? 0) + 1)
  let same = 0
  for (const { content } of b.rows) {
    const there = left.get(content) ?? 0
    if (there === 0) continue
    left.set(content, there - 1)
    same++
  }
  return same
}
