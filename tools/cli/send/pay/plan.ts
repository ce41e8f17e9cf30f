import { createHash, hash } from 'node:crypto'
import { open, readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { Refusal } from '../../shared/program.js'
import { moneyKey } from '../file/amountText.js'
import type { Row } from '../file/rows.js'
import { differencesOf, differenceText, type LineText } from './difference.js'
import { type JournalFiles, lineText, type Purse } from './journal.js'
import { jsonLines, replaceFile } from './writeFile.js'

/** The plan that the dry run showed, stored beside the file. */
export type Plan = Purse & {
  readonly version: 1
  readonly plan: string
  readonly file: string
  readonly madeAt: string
  readonly rows: readonly LineText[]
}

// 160 bits, as in a commit: no two files with the same plan can be made.
const HASH_DIGITS = 40

/**
 * A hash of the chain, the account and every payment in its order: recipient, amount, token and call. Ids, notes,
 * the spelling of the file and the number of rows in a transaction do not count.
 */
export function planHash({ chainId, account }: Purse, rows: readonly Row[]): string {
  const all = createHash('sha256')
  all.update(`txlane payout 1\n${chainId} ${account.toLowerCase()} ${rows.length}\n`)
  for (const row of rows) all.update(`${paymentOf(row)} ${row.request.gas ?? ''}\n`)
  return all.digest('hex').slice(0, HASH_DIGITS)
}

function paymentOf({ to, amount, money, request }: Row): string {
  const call = `${request.to} ${request.value} ${request.data ?? '0x'}`
  return `${to} ${amount} ${moneyKey(money)} ${call}`.toLowerCase()
}

/** Native code hashes 200,000 rows in a tenth of the time that the journal's hash needs. */
const planLine = (row: Row): LineText =>
  lineText(row, `0x${hash('sha256', paymentOf(row)).slice(0, HASH_DIGITS)}`)

export function writePlan(
  files: JournalFiles,
  path: string,
  about: Purse & Pick<Plan, 'plan' | 'madeAt'>,
  rows: readonly Row[],
): Promise<void> {
  const head = { version: 1, file: basename(path), ...about }
  return replaceFile(files.plan, jsonLines(head, 'rows', planRows(rows)))
}

/** One row at a time: the list of all would need as much memory as the payout. */
function* planRows(rows: readonly Row[]): Generator<LineText> {
  for (const row of rows) yield planLine(row)
}

/** The hash and the time of the last dry run; undefined without one. */
export async function planMade({
  plan: path,
}: JournalFiles): Promise<Pick<Plan, 'plan' | 'madeAt'> | undefined> {
  // Both fields precede the rows in the file.
  const head = await headOf(path)
  const [, plan] = /"plan": "([0-9a-f]+)"/.exec(head) ?? []
  const [, madeAt] = /"madeAt": "([^"]+)"/.exec(head) ?? []
  return plan === undefined || madeAt === undefined ? undefined : { plan, madeAt }
}

const HEAD_BYTES = 4_096

async function headOf(path: string): Promise<string> {
  const file = await open(path, 'r').catch(() => undefined)
  if (file === undefined) return ''
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0)
    return buffer.toString('utf8', 0, bytesRead)
  } finally {
    await file.close()
  }
}

/**
 * @throws Refusal if the payments are not those of `pinned`, or not those that the last dry run showed
 */
export async function checkPlan(
  files: JournalFiles,
  purse: Purse & { readonly plan: string },
  rows: readonly Row[],
  pinned: string | undefined,
): Promise<void> {
  const { plan } = purse
  if (pinned !== undefined && pinned !== plan)
    throw new Refusal(`The payments have the plan ${plan}, but --plan is ${pinned}. Nothing was sent.`)
  const made = await planMade(files)
  if (made === undefined || made.plan === plan) return
  throw new Refusal(
    [
      `The payments are not those of the dry run on ${made.madeAt}. Nothing was sent.`,
      differenceText(await planDifferences(files, purse, rows)),
      `Check them with a new dry run (--dry-run), or remove ${files.plan}.`,
    ].join('\n'),
  )
}

async function planDifferences(
  { plan: path }: JournalFiles,
  purse: Purse,
  rows: readonly Row[],
): Promise<readonly string[]> {
  const was = JSON.parse(await readFile(path, 'utf8')) as Plan
  const about = (['chainId', 'account'] as const)
    .filter((name) => was[name] !== purse[name])
    .map((name) => `  ${name}: was ${was[name]}, is ${purse[name]}`)
  const lines = [...about, ...differencesOf(was.rows, rows.map(planLine))]
  return lines.length > 0 ? lines : [orderText(was.rows, rows)]
}

/** The lines are the same, so their order or their gas limits differ. */
function orderText(was: readonly LineText[], rows: readonly Row[]): string {
  const at = rows.findIndex((row, index) => was[index]?.content !== planLine(row).content)
  const row = rows[at]
  return row === undefined
    ? '  The gas limits are others.'
    : `  The order is another one, from line ${row.line} on.`
}
