import { count, json, pairs, wrapped } from '../../shared/output.js'
import { roundedUp, totalsOf, totalsText } from '../file/amountText.js'
import type { Money, Row } from '../file/rows.js'
import { countStatuses, isPaid, paidOf, type RowResult } from '../pay/results.js'
import { duration } from './runProgress.js'
import { betweenText } from './standingText.js'

/** The end of a run, for display. */
export type End = {
  readonly file: string
  readonly plan: string
  readonly results: readonly RowResult[]
  /** The lines that earlier runs paid. */
  readonly paidBefore: ReadonlySet<Row>
  /** The lines that earlier runs executed, paid or not, and this run only followed. */
  readonly executedBefore: ReadonlySet<Row>
  readonly times: ReadonlyMap<bigint, string>
  readonly seconds: number
  readonly interrupted: boolean
  /** The native currency, in which fees are paid. */
  readonly native: Money
  readonly written: Written
}

type Written = {
  /** Undefined if it could not be written. */
  readonly results: string | undefined
  readonly page?: string | undefined
  readonly accounting?: string | undefined
}

export function endText(end: End): string {
  const { results, interrupted, written } = end
  const rows: (readonly [string, string])[] = [
    ...costs(end),
    ...(written.results === undefined ? [] : [['results', written.results] as const]),
    ...(written.page === undefined ? [] : [['report', written.page] as const]),
    ...(written.accounting === undefined ? [] : [['accounting', written.accounting] as const]),
  ]
  const sentences = [
    ...summary(end),
    ...(interrupted ? [openText(results)] : []),
    ...failures(results, interrupted),
  ]
  return `${sentences.map((text) => `${wrapped(text)}\n`).join('')}${pairs(rows)}`
}

/** The amounts that this run paid, and that earlier runs had paid. */
function summary({ results, paidBefore, executedBefore, times, interrupted }: End): readonly string[] {
  const paid = results.filter(isPaid)
  const before = paid.filter(({ row }) => paidBefore.has(row))
  const now = paid.filter(({ row }) => !paidBefore.has(row))
  const of = `of ${count(results.length, 'line')}`
  const stopped = interrupted ? ['Interrupted.'] : []
  if (results.length > 0 && before.length === 0 && results.every(({ row }) => executedBefore.has(row)))
    return [...stopped, `Nothing was sent: none ${of} is paid.`]
  if (before.length === 0)
    return [...stopped, `Paid ${now.length === 0 ? 'none' : number(now.length)} ${of}${moneyText(now)}.`]
  const earlier = `${before.length === results.length ? 'all ' : ''}${count(before.length, 'line')}${before.length === 1 ? ' was' : ' were'} paid before${moneyText(before)}${whenText(before, times)}`
  if (now.length === 0)
    return [
      ...stopped,
      `${before.length === results.length ? 'Nothing was sent' : 'Nothing was paid in this run'}: ${earlier}.`,
    ]
  return [
    ...stopped,
    `Paid ${count(now.length, 'line')} in this run${moneyText(now)}.`,
    `${earlier[0]?.toUpperCase()}${earlier.slice(1)}: ${number(paid.length)} ${of} ${paid.length === 1 ? 'is' : 'are'} paid.`,
  ]
}

const moneyText = (paid: readonly RowResult[]): string =>
  paid.length === 0 ? '' : `, ${totalsText(totalsOf(paid.map(paidOf)))}`

function whenText(paid: readonly RowResult[], times: ReadonlyMap<bigint, string>): string {
  const known = paid.flatMap(({ blockNumber = -1n }) => times.get(blockNumber) ?? []).sort()
  const [first, last] = [known[0], known.at(-1)]
  return first === undefined || last === undefined ? '' : `, ${betweenText([first, last])}`
}

/** The lines whose end is not known after an interrupt, and the lines that were not begun. */
function openText(results: readonly RowResult[]): string {
  const open = results.filter(({ status }) => status === 'open')
  const signed = open.filter(({ hash }) => hash !== undefined).length
  const rest = open.filter(({ hash }) => hash === undefined)
  const parts = [
    ...(signed === 0
      ? []
      : [
          `${count(signed, 'line')} ${signed === 1 ? 'is' : 'are'} signed and may still be executed: the next run follows ${signed === 1 ? 'it' : 'them'}.`,
        ]),
    ...(rest.length === 0
      ? []
      : [
          `${count(rest.length, 'line')} ${rest.length === 1 ? 'was' : 'were'} not begun, ${totalsText(totalsOf(rest.map(({ row }) => row)))}.`,
        ]),
    ...(open.length === 0 ? [] : ['Run the same command again to continue: no line is paid twice.']),
  ]
  return parts.join(' ')
}

const SHOWN_MAX = 10

/** The lines that ended without being paid. After an interrupt an open line is no failure. */
function failures(results: readonly RowResult[], interrupted: boolean): readonly string[] {
  const bad = results.filter(({ status }) => status !== 'paid' && !(interrupted && status === 'open'))
  const lines = bad.slice(0, SHOWN_MAX).map(({ row, status, error, hash }) => {
    const why = error === undefined ? '' : `: ${error}`
    return `  line ${row.line} ${status}${why}${hash === undefined ? '' : ` (${hash})`}`
  })
  const more = bad.length > SHOWN_MAX ? [`  … and ${number(bad.length - SHOWN_MAX)} more`] : []
  const { reverted, unmoved } = countStatuses(results)
  return [
    ...lines,
    ...more,
    ...(reverted > 0 ? ['Reverted lines were executed: only --retry-reverted sends them again.'] : []),
    ...(unmoved > 0
      ? ['Unmoved lines were executed without effect: only --retry-reverted sends them again.']
      : []),
  ]
}

/** The cost of the lines that this run executed. */
function costs(end: End): readonly (readonly [string, string])[] {
  const { fees, transactions, blocks, unknown } = costsOf(end)
  if (blocks === undefined) return []
  const [first, last] = blocks
  return [
    [
      'fees',
      `${unknown > 0 ? 'at least ' : ''}${roundedUp(fees, end.native)} in ${count(transactions, 'transaction')}`,
    ],
    // "blocks 9" would read as a count.
    first === last ? ['block', `${first}`] : ['blocks', `${first} to ${last}`],
    ['time', duration(end.seconds)],
  ]
}

function costsOf({ results, executedBefore }: End) {
  const mined = results.filter(
    ({ row, blockNumber }) => blockNumber !== undefined && !executedBefore.has(row),
  )
  const blocks = mined.map(({ blockNumber }) => blockNumber as bigint)
  return {
    fees: mined.reduce((sum, { feeWei = 0n }) => sum + feeWei, 0n),
    unknown: mined.filter(({ feeWei }) => feeWei === undefined).length,
    transactions: new Set(mined.map(({ hash }) => hash)).size,
    blocks:
      blocks.length === 0
        ? undefined
        : ([blocks.reduce((a, b) => (a < b ? a : b)), blocks.reduce((a, b) => (a > b ? a : b))] as const),
  }
}

export function endJson(end: End): string {
  const { file, plan, results, paidBefore, times, seconds, written } = end
  const paid = results.filter(isPaid)
  const totals = totalsOf(paid.map(paidOf))
  const { fees, blocks, transactions } = costsOf(end)
  return json({
    file,
    plan,
    counts: countStatuses(results),
    // Amounts of several currencies have no sum.
    paid: totals.length > 1 ? undefined : (totals[0]?.amount ?? 0n),
    totals: totals.map(({ money, amount, lines }) => ({ ...money, amount, lines })),
    paidBefore: paid.filter(({ row }) => paidBefore.has(row)).length,
    feesWei: fees,
    transactions,
    blocks,
    seconds,
    results: results.map(({ row, ...rest }) => ({
      line: row.line,
      id: row.id,
      to: row.to,
      name: row.name,
      amount: row.amount,
      token: row.money.kind === 'token' ? row.money.address : undefined,
      ...rest,
      time: rest.blockNumber === undefined ? undefined : times.get(rest.blockNumber),
    })),
    resultsFile: written.results,
    reportFile: written.page,
    accountingFile: written.accounting,
  })
}

const number = (value: number): string => value.toLocaleString('en')
