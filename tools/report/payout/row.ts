import { number, short } from '../model/words.js'
import { explorerPage } from './explorer.js'
import { moneyKey } from './facts.js'
import type { PayoutLine, PayoutReport } from './payout.js'
import { escapeHtml, foreignText } from './text.js'
import { amountText, feeText, hasOwnIds, OUTCOMES, reasonOf, STATUSES, utcTime } from './words.js'

/** The values that the rows of one report have in common. The page's script makes the same rows from the same code. */
export type RowContext = {
  readonly chain: PayoutReport['chain']
  /** False if the ids are those that txlane made. */
  readonly hasIds: boolean
  /** False if no line has an id or a note: the table then has no column for them. */
  readonly hasFor: boolean
  /** Symbols of more than one currency. */
  readonly ambiguous: ReadonlySet<string>
}

// A row has a bounded size: a cell may hold a whole document. The accounting file has all of it.
const MAX = { id: 100, name: 100, note: 240, symbol: 20, reason: 300 } as const

export function rowContext(report: Pick<PayoutReport, 'chain' | 'lines'>): RowContext {
  const hasIds = hasOwnIds(report)
  const keys = new Map<string, string>()
  const ambiguous = new Set<string>()
  for (const { money } of report.lines) {
    const first = keys.get(money.symbol) ?? moneyKey(money)
    keys.set(money.symbol, first)
    if (first !== moneyKey(money)) ambiguous.add(money.symbol)
  }
  const hasFor = hasIds || report.lines.some(({ note }) => isText(note))
  return { chain: report.chain, hasIds, hasFor, ambiguous }
}

export type Column = 'line' | 'to' | 'for' | 'amount' | 'status' | 'time' | 'tx' | 'fee'

/** The columns with their titles. */
export function columnsOf({ chain, hasFor }: RowContext): readonly (readonly [Column, string])[] {
  const columns: readonly (readonly [Column, string])[] = [
    ['line', 'Line'],
    ['to', 'Recipient'],
    ['for', 'For'],
    ['amount', 'Amount'],
    ['status', 'Status'],
    ['time', 'Date (UTC)'],
    ['tx', 'Transaction'],
    ['fee', `Fee (${chain.symbol})`],
  ]
  return columns.filter(([column]) => column !== 'for' || hasFor)
}

/** A row of the table. The roles repeat those of a table, because the cards of a small screen are no table to a browser. */
export function rowHtml(line: PayoutLine, context: RowContext): string {
  const { outcome } = STATUSES[line.status]
  return `<tr role="row" class="${outcome}"><th role="rowheader" scope="row" class="line">${line.line}</th>${[
    cell('to', recipient(line, context)),
    context.hasFor ? cell('for', purpose(line, context)) : '',
    cell('amount', amount(line, context)),
    cell('status', status(line)),
    cell('time', utcTime(line.time) ?? ''),
    cell('tx', transaction(line, context)),
    cell('fee', line.feeWei === undefined ? '' : feeText(line.feeWei)),
  ].join('')}</tr>`
}

/** A row of the list of lines that are not paid: with the reason instead of the transaction's details. */
export function problemHtml(line: PayoutLine, context: RowContext): string {
  const { plain, reported } = reasonOf(line)
  const hash =
    line.hash === undefined ? '' : ` <span class="sub">Transaction ${transactionHash(line, context)}</span>`
  const technical = isText(reported) ? ` <small>Reported: ${foreignText(reported, MAX.reason)}</small>` : ''
  const reason = `${plain ?? (isText(reported) ? '' : 'No reason was reported.')}${technical}${hash}`
  return `<tr role="row"><th role="rowheader" scope="row" class="line">${line.line}</th>${cell('to', recipient(line, context))}${
    context.hasFor ? cell('for', purpose(line, context)) : ''
  }${cell('amount', amount(line, context))}${cell('why', reason)}</tr>`
}

const SUM_MAX = 30

/** Only an amount that is wider than any column breaks into lines. */
export function sumHtml(amount: bigint, money: PayoutLine['money']): string {
  const text = amountText(amount, money)
  return `<span class="sum${text.length > SUM_MAX ? ' long' : ''}">${text}</span>`
}

function symbolHtml({ symbol, token }: PayoutLine['money'], { ambiguous }: RowContext): string {
  const which = ambiguous.has(symbol)
    ? ` <small>${token === undefined ? '(native)' : `(${short(token)})`}</small>`
    : ''
  return `<span class="unit">${foreignText(symbol, MAX.symbol)}${which}</span>`
}

/** An address or a hash: short on a screen, whole on paper and when copied, linked where the chain has an explorer. */
export function hexHtml(hex: string, page: string | undefined, copyLabel: string): string {
  const name = `<span>${escapeHtml(short(hex))}</span>`
  const title = `title="${escapeHtml(hex)}"`
  const shown =
    page === undefined
      ? `<span class="hex" ${title}>${name}</span>`
      : `<a class="hex" ${title} href="${escapeHtml(page)}" target="_blank" rel="noopener noreferrer">${name}</a>`
  return `<span class="key">${shown}<button type="button" class="copy" aria-label="${escapeHtml(copyLabel)}"></button></span>`
}

const cell = (name: string, html: string): string => `<td role="cell" class="${name}">${html}</td>`

const isText = (text: string | undefined): text is string => text !== undefined && text.trim() !== ''

function recipient({ name, to, line }: PayoutLine, { chain }: RowContext): string {
  const named = isText(name) ? `<b>${foreignText(name, MAX.name)}</b> ` : ''
  return `${named}${hexHtml(to, explorerPage(chain, 'address', to), `Copy the address of line ${line}`)}`
}

function purpose({ id, note }: PayoutLine, { hasIds }: RowContext): string {
  const own = hasIds ? `<span class="id">${foreignText(id, MAX.id)}</span> ` : ''
  return `${own}${isText(note) ? `<span class="note">${foreignText(note, MAX.note)}</span>` : ''}`
}

function amount({ amount, money }: PayoutLine, context: RowContext): string {
  return `${sumHtml(amount, money)} ${symbolHtml(money, context)}`
}

function status(line: PayoutLine): string {
  const { outcome, word } = STATUSES[line.status]
  return `<span class="state">${OUTCOMES[outcome]}</span>${word === '' ? '' : ` <small>${word}</small>`}`
}

function transaction(line: PayoutLine, context: RowContext): string {
  const { hash, block, sharedBy = 1 } = line
  if (hash === undefined) return ''
  const facts = [
    ...(block === undefined ? [] : [`block ${block}`]),
    ...(sharedBy > 1 ? [`pays ${number(sharedBy)} lines`] : []),
  ]
  return `${transactionHash(line, context)}${facts.length === 0 ? '' : ` <small>${facts.join(', ')}</small>`}`
}

function transactionHash({ hash = '0x', line }: PayoutLine, { chain }: RowContext): string {
  return hexHtml(hash, explorerPage(chain, 'tx', hash), `Copy the transaction hash of line ${line}`)
}
