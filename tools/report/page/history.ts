import { duration, short } from '../model/words.js'
import type { PayloadLane } from '../payload.js'
import { type Attempt, type Data, type Entry, nonceOf, type Transaction } from './data.js'
import { button, type Child, element } from './dom.js'
import { addressText, copyButton, hashText } from './names.js'
import { type Column, table } from './table.js'
import { after, time } from './time.js'

const SKETCH_MAX = 12

/** The short history beside the pointer. */
export function historySketch(transaction: Transaction, data: Data): Node {
  const { id, entries, attempts, outcome } = transaction
  const started = entries[0]?.at ?? data.startedAt
  const rows = entries
    .slice(0, SKETCH_MAX)
    .map((entry) =>
      element(
        'tr',
        {},
        element('th', { scope: 'row' }, dot(entry.event), entry.event),
        element('td', {}, after(entry.at - started)),
      ),
    )
  const more = entries.length - rows.length
  const hash = attempts.at(-1)?.hash
  return element(
    'div',
    {},
    element('strong', {}, id),
    element(
      'div',
      {},
      [nonceText(transaction), outcomeText(outcome), ...(hash ? [short(hash)] : [])].join(' · '),
    ),
    element('div', { class: 'count' }, `${time(started)} UTC`),
    element('table', {}, element('tbody', {}, ...rows)),
    more > 0 ? element('div', { class: 'count' }, `and ${more} more: click to show all`) : undefined,
  )
}

function nonceText(transaction: Transaction): string {
  const nonce = nonceOf(transaction)
  return nonce === undefined ? 'no nonce' : `nonce ${nonce}`
}

/** The outcome as the page names it. */
export function outcomeText(outcome: string): string {
  return outcome === 'open' ? 'not finished' : outcome
}

/** Shows the complete history in its panel. */
export function showHistory(
  place: HTMLElement,
  transaction: Transaction,
  data: Data,
  closed: () => void,
): void {
  const { id, entries, attempts, outcome } = transaction
  const lane = data.lanes[transaction.lane]
  const close = button('Close', '', () => {
    place.replaceChildren()
    place.parentElement?.classList.remove('open')
    closed()
  })
  const last = entries.at(-1)?.at ?? data.startedAt
  const first = entries[0]?.at ?? data.startedAt
  const lasted = `${nonceText(transaction)}, ${outcomeText(outcome)}, ${duration(Math.max(0, last - first))} from the first event to the last.`
  const why = data.unfinished.find((one) => one.transaction === transaction)?.why
  place.replaceChildren(
    element('div', { class: 'top' }, element('h3', { tabindex: -1 }, id), close),
    element(
      'p',
      { class: 'hint' },
      lasted[0]?.toUpperCase() ?? '',
      lasted.slice(1),
      ' ',
      copyButton(id, 'id'),
    ),
    ...(why === undefined ? [] : [element('p', { class: 'state-open' }, why)]),
    ...(lane === undefined ? [] : [element('p', { class: 'hint' }, addressText(lane), ` on ${lane.chain}`)]),
    element('h4', {}, 'Events'),
    entriesTable(entries, first, lane),
    ...(attempts.length > 0
      ? [element('h4', {}, 'Signed attempts'), attemptsTable(attempts, first, lane)]
      : []),
  )
  place.parentElement?.classList.add('open')
}

function entriesTable(entries: readonly Entry[], first: number, lane: PayloadLane | undefined): Node {
  const columns: readonly Column<Entry>[] = [
    { name: 'time, UTC', class: 'stamp', cell: ({ at }) => time(at) },
    { name: 'after', class: 'number', cell: ({ at }) => after(at - first) },
    { name: 'event', class: 'event', cell: ({ event }) => element('span', {}, dot(event), event) },
    { name: 'nonce', class: 'number', cell: ({ nonce }) => nonce ?? '' },
    ...(entries.some(({ note }) => note !== undefined)
      ? [{ name: 'detail', class: 'name', cell: ({ note }: Entry) => noteOf(note, lane) }]
      : []),
  ]
  return table({ caption: 'Events of the transaction', columns, rows: entries })
}

function noteOf(note: string | undefined, lane: PayloadLane | undefined): Child {
  return note?.startsWith('0x') ? hashText(note, lane) : note
}

function attemptsTable(attempts: readonly Attempt[], first: number, lane: PayloadLane | undefined): Node {
  return table<Attempt>({
    caption: 'Signed attempts',
    rows: attempts,
    columns: [
      { name: 'after', class: 'number', cell: ({ at }) => after(at - first) },
      { name: 'hash', class: 'name', cell: ({ hash }) => hashText(hash, lane, hash) },
      {
        name: 'fees, gwei per gas',
        class: '',
        cell: ({ fees }) =>
          element(
            'span',
            {},
            ...fees.map(([name, wei]) => element('div', {}, `${feeName(name)} ${gwei(wei)}`)),
          ),
      },
    ],
  })
}

const FEE_NAMES: Readonly<Record<string, string>> = {
  gasPrice: 'price',
  maxFeePerGas: 'maximum',
  maxPriorityFeePerGas: 'tip',
}

function feeName(name: string): string {
  return FEE_NAMES[name] ?? name
}

/** Wei as gwei, without trailing zeros. */
export function gwei(wei: string): string {
  const digits = wei.padStart(10, '0')
  const whole = digits.slice(0, -9)
  const rest = digits.slice(-9).replace(/0+$/, '')
  return rest === '' ? whole : `${whole}.${rest}`
}

const COLOURED = new Set(['queued', 'signed', 'accepted', 'preconfirmed', 'sealed'])
const ENDED = new Set(['failed', 'cancelled', 'superseded'])
const REPAIRS = new Set(['rebroadcast', 'gapFilled'])

function dot(event: string): Node {
  const wrong = ENDED.has(event) ? 'ended' : REPAIRS.has(event) ? 'repair' : 'fault'
  const colour = COLOURED.has(event) ? event : wrong
  return element('span', { class: 'dot', style: `background: var(--${colour})`, 'aria-hidden': 'true' })
}
