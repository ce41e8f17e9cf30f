import { number } from '../../model/words.js'
import { type PayoutData, unpackLines } from '../data.js'
import type { PayoutLine } from '../payout.js'
import { type Column, type RowContext, rowContext, rowHtml } from '../row.js'
import { OUTCOMES, type Outcome } from '../words.js'
import { copyOnClick } from './copy.js'
import { createPages } from './pages.js'
import { createLines, foundText, type View } from './table.js'

/** Lines that are printed at most: about 200 sheets. */
const PRINTED_MAX = 2_000

/** Adds search, order, pages and copying to the table, which is complete without them up to its first page. */
function start(data: PayoutData): void {
  const lines = createLines(unpackLines(data))
  const context = rowContext({ chain: data.chain, lines: lines.all })
  const [table, found] = [byId('lines'), byId('found')]
  const body = table.querySelector('tbody') as HTMLElement
  let view: View = { text: '', outcome: undefined, column: 'line', descending: false }
  let chosen: readonly PayoutLine[] = lines.all

  const draw = (from: number, to: number) => {
    body.innerHTML = rowsHtml(chosen.slice(from, to), context)
  }
  const pages = createPages(byId('pages'), table, draw)
  const show = (change: Partial<View>) => {
    view = { ...view, ...change }
    chosen = lines.select(view)
    found.textContent = foundText(chosen, lines.all.length, view)
    pages.show(chosen.length)
    table.hidden = chosen.length === 0
  }

  found.textContent = foundText(chosen, lines.all.length, view)
  pages.begin(chosen.length)
  drawTools(byId('tools'), show)
  sortOnClick(table, show)
  copyOnClick(byId('said'))
  printAll(
    () => chosen,
    (printed) => draw(0, printed),
    pages.redraw,
    found,
  )
}

function byId(id: string): HTMLElement {
  return document.getElementById(id) as HTMLElement
}

/** Each text in a row is escaped where the row is made. */
function rowsHtml(lines: readonly PayoutLine[], context: RowContext): string {
  return lines.map((line) => rowHtml(line, context)).join('')
}

function drawTools(place: HTMLElement, show: (change: Partial<View>) => void): void {
  const search = document.createElement('input')
  search.type = 'search'
  search.id = 'search'
  search.placeholder = 'Name, note, address, amount, hash …'
  search.addEventListener('input', () => show({ text: search.value }))
  const choice = document.createElement('select')
  choice.id = 'choice'
  choice.append(
    new Option('All lines', ''),
    ...Object.entries(OUTCOMES).map(([value, label]) => new Option(label, value)),
  )
  choice.addEventListener('change', () =>
    show({ outcome: choice.value === '' ? undefined : (choice.value as Outcome) }),
  )
  place.append(labelled('Search', search), labelled('Show', choice))
  place.hidden = false
}

function labelled(text: string, control: HTMLElement): HTMLElement {
  const label = document.createElement('label')
  label.append(`${text} `, control)
  return label
}

function sortOnClick(table: HTMLElement, show: (change: Partial<View>) => void): void {
  const heads = [...table.querySelectorAll<HTMLElement>('th[data-column]')]
  for (const head of heads) {
    const button = document.createElement('button')
    button.type = 'button'
    button.append(...head.childNodes)
    head.append(button)
    button.addEventListener('click', () => {
      const descending = head.getAttribute('aria-sort') === 'ascending'
      for (const other of heads) other.removeAttribute('aria-sort')
      head.setAttribute('aria-sort', descending ? 'descending' : 'ascending')
      show({ column: head.dataset.column as Column, descending })
    })
  }
}

/** Paper has no pages to turn: all chosen lines are printed, up to a limit, which is printed then. */
function printAll(
  chosen: () => readonly PayoutLine[],
  draw: (printed: number) => void,
  restore: () => void,
  found: HTMLElement,
): void {
  let before = ''
  addEventListener('beforeprint', () => {
    const all = chosen().length
    before = found.textContent ?? ''
    draw(Math.min(all, PRINTED_MAX))
    if (all > PRINTED_MAX)
      found.textContent = `${before} Printed are the first ${number(PRINTED_MAX)} of ${number(all)}. A search or a choice prints others; the accounting file has all lines.`
  })
  addEventListener('afterprint', () => {
    found.textContent = before
    restore()
  })
}

/** The inverse of `compressed` in html.ts. */
async function decompressed(text: string): Promise<PayoutData> {
  const packed = atob(text)
  const bytes = new Uint8Array(packed.length)
  for (let at = 0; at < packed.length; at++) bytes[at] = packed.charCodeAt(at)
  const json = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'))
  return new Response(json).json()
}

const text = document.getElementById('data')?.textContent
if (text && document.getElementById('lines')) void decompressed(text).then(start)
