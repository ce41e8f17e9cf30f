import { duration, short } from '../model/words.js'
import { type Attempt, type Data, type Entry, nonceOf, type Transaction } from './data.js'
import { button, type Child, element } from './dom.js'
import { after, clockTime, day } from './time.js'

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
    element('div', {}, [nonceText(transaction), outcome, ...(hash ? [short(hash)] : [])].join(' · ')),
    element('table', {}, element('tbody', {}, ...rows)),
    more > 0 ? element('div', { class: 'count' }, `and ${more} more: click to show all`) : undefined,
  )
}

function nonceText(transaction: Transaction): string {
  const nonce = nonceOf(transaction)
  return nonce === undefined ? 'no nonce' : `nonce ${nonce}`
}

/** Shows the complete history in its panel. */
export function showHistory(place: HTMLElement, transaction: Transaction, data: Data): void {
  const { id, entries, attempts, outcome, lane } = transaction
  const close = button('Close', '', () => {
    place.replaceChildren()
    place.parentElement?.classList.remove('open')
  })
  const last = entries.at(-1)?.at ?? data.startedAt
  const first = entries[0]?.at ?? data.startedAt
  const lasted = `${nonceText(transaction)}, ${outcome}, ${duration(Math.max(0, last - first))} from first to last`
  place.replaceChildren(
    element('div', { class: 'top' }, element('h3', { tabindex: -1 }, id), close),
    element('p', { class: 'hint' }, `${lasted}. ${laneText(data.lanes[lane])}`),
    entriesTable(entries, first),
    ...(attempts.length > 0 ? [attemptsTable(attempts, first)] : []),
  )
  place.parentElement?.classList.add('open')
}

function laneText(lane = ''): string {
  const [chainId, address] = lane.split(':')
  return `${address} on chain ${chainId}.`
}

function entriesTable(entries: readonly Entry[], first: number): Node {
  const rows = entries.map(({ at, event, nonce, note }) =>
    element(
      'tr',
      {},
      element('td', { class: 'time', title: day(at) }, clockTime(at)),
      element('td', { class: 'number' }, after(at - first)),
      element('th', { scope: 'row' }, dot(event), event),
      element('td', { class: 'number' }, nonce ?? ''),
      element('td', { class: 'name' }, noteOf(note)),
    ),
  )
  return table('Events', ['time', 'after', 'event', 'nonce', ''], rows)
}

function noteOf(note: string | undefined): Child {
  return note?.startsWith('0x') ? element('code', { title: note }, short(note)) : note
}

function attemptsTable(attempts: readonly Attempt[], first: number): Node {
  const rows = attempts.map(({ hash, fees, at }) =>
    element(
      'tr',
      {},
      element('td', { class: 'number' }, after(at - first)),
      element('td', { class: 'name' }, element('code', {}, hash)),
      element(
        'td',
        {},
        ...fees.flatMap(([name, wei]) => [element('div', {}, `${feeName(name)} ${gwei(wei)}`)]),
      ),
    ),
  )
  return table('Attempts', ['after', 'hash', 'fees, gwei per gas'], rows)
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

function table(caption: string, names: readonly string[], rows: readonly Node[]): Node {
  const head = element('tr', {}, ...names.map((name) => element('th', { scope: 'col' }, name)))
  return element(
    'div',
    { class: 'scroll' },
    element(
      'table',
      {},
      element('caption', {}, caption),
      element('thead', {}, head),
      element('tbody', {}, ...rows),
    ),
  )
}

const COLOURED = new Set(['queued', 'signed', 'accepted', 'preconfirmed', 'sealed'])
const ENDED = new Set(['failed', 'cancelled', 'superseded'])
const REPAIRS = new Set(['rebroadcast', 'gapFilled'])

function dot(event: string): Node {
  const wrong = ENDED.has(event) ? 'ended' : REPAIRS.has(event) ? 'repair' : 'fault'
  const colour = COLOURED.has(event) ? event : wrong
  return element('span', { class: 'dot', style: `background: var(--${colour})`, 'aria-hidden': 'true' })
}
