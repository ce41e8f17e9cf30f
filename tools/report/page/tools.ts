import { number } from '../model/words.js'
import { type Data, nonceOf, type Transaction } from './data.js'
import { button, element } from './dom.js'
import { findAll } from './find.js'
import { laneText } from './names.js'
import type { NonceChart } from './nonceView.js'

export type Tools = {
  /** Shows the number of the lane that is drawn. */
  readonly laneChanged: () => void
}

/** A lane selector, if there are several lanes, a search, and buttons for all that the mouse does. */
export function drawTools(
  place: HTMLElement,
  data: Data,
  chart: NonceChart,
  found: (transaction: Transaction) => void,
): Tools {
  const lanes = data.lanes.length > 1 ? laneChoice(data, chart) : undefined
  if (lanes) place.append(element('label', {}, 'Lane ', lanes))
  place.append(search(data, found), zoomButtons(chart))
  return {
    laneChanged: () => {
      if (lanes) lanes.value = String(chart.lane())
    },
  }
}

function laneChoice({ lanes }: Data, chart: NonceChart): HTMLSelectElement {
  const options = lanes.map((lane, index) =>
    element('option', { value: index, selected: index === chart.lane() }, laneText(lane)),
  )
  const select = element('select', {}, ...options)
  select.addEventListener('change', () => chart.showLane(Number(select.value)))
  return select
}

function zoomButtons(chart: NonceChart): Node {
  const one = (text: string, label: string, act: () => void) =>
    button(text, '', act, { 'aria-label': label, title: label })
  return element(
    'div',
    { class: 'zoom', role: 'group', 'aria-label': 'Visible time' },
    one('←', 'Earlier', () => chart.pan(-0.5)),
    one('→', 'Later', () => chart.pan(0.5)),
    one('+', 'Zoom in', () => chart.zoom(0.5)),
    one('−', 'Zoom out', () => chart.zoom(2)),
    button('Show all', '', chart.showAll),
  )
}

function search(data: Data, found: (transaction: Transaction) => void): Node {
  const input = element('input', {
    type: 'search',
    placeholder: 'id, nonce or hash',
    'aria-label': 'Find a transaction by its id, nonce or hash',
  })
  const answer = element('p', { class: 'answer', role: 'status' })
  const form = element('form', { role: 'search' }, input, element('button', { type: 'submit' }, 'Find'))
  let [last, at] = ['', 0]
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    const matches = findAll(data, input.value)
    // The same text once more shows the next match.
    at = input.value === last ? at + 1 : 0
    last = input.value
    const transaction = matches[at % Math.max(1, matches.length)]
    answer.classList.toggle('none', transaction === undefined)
    answer.textContent = answerText(data, input.value.trim(), matches, transaction)
    if (transaction) found(transaction)
  })
  return element('div', { class: 'search' }, form, answer)
}

function answerText(
  data: Data,
  text: string,
  matches: readonly Transaction[],
  transaction: Transaction | undefined,
): string {
  if (text === '') return 'Type an id, a nonce or a hash.'
  if (transaction === undefined) return missing(data, text)
  const nonce = nonceOf(transaction)
  const where = nonce === undefined ? 'it never had a nonce, so the chart does not show it' : `nonce ${nonce}`
  const place = matches.indexOf(transaction) + 1
  const which = matches.length > 1 ? ` Match ${place} of ${number(matches.length)}: Find shows the next.` : ''
  return `Found ${transaction.id}: ${where}.${which}`
}

function missing({ transactions, transactionsInAll }: Data, text: string): string {
  const shown = number(transactions.length)
  const some =
    transactions.length < transactionsInAll
      ? ` The page has ${shown} of ${number(transactionsInAll)} transactions; it may be one of the others.`
      : ''
  return `Nothing found: none of the ${shown} transactions has “${text}” as its id, hash or nonce.${some}`
}
