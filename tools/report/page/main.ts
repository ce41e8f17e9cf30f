import type { Payload } from '../payload.js'
import { type Colours, readColours, themeButton } from './colours.js'
import { type Data, type Transaction, unpack } from './data.js'
import { byId, element, opening } from './dom.js'
import { showHistory } from './history.js'
import { drawLatency, latencyTables } from './latencyChart.js'
import { addressText } from './names.js'
import { createNonceChart } from './nonceChart.js'
import type { NonceChart } from './nonceView.js'
import { problemTables } from './problemTables.js'
import { drawThroughput } from './throughputChart.js'
import { drawTools } from './tools.js'
import { allTransactions, unfinishedTable } from './transactionTables.js'

/** Draws all parts of the page. A page without transactions has fewer elements to fill. */
function start(data: Data): void {
  fill('lanes', (place) => place.append(laneList(data)))
  const chart = fill('nonces', (place) => createNonceChart(place, data, (transaction) => choose(transaction)))
  const choose = chooser(data, chart)
  const tools = fill('tools', (place) => {
    if (!chart) return undefined
    return drawTools(place, data, chart, (transaction) => {
      chart.focus(transaction)
      tools?.laneChanged()
      openHistory(data, chart, transaction, false)
    })
  })
  const chooseAnywhere = (transaction: Transaction) => {
    chart?.focus(transaction)
    tools?.laneChanged()
    choose(transaction)
  }
  fill('unfinished', (place) => {
    const made = unfinishedTable(data, chooseAnywhere)
    if (made) place.append(made)
  })
  fill('all', (place) => place.append(allTransactions(data, chooseAnywhere)))
  for (const role of ['fault', 'repair', 'asked'] as const) {
    fill(role, (place) => place.append(problemTables(data, role, chooseAnywhere)))
  }
  const draws = [
    chart?.draw,
    fill('latency', (place) => drawLatency(place, data)),
    fill('throughput', (place) => drawThroughput(place, data)),
  ]
  fill('spreads', (place) => place.append(...latencyTables(data)))
  const drawAll = () => {
    const colours: Colours = readColours()
    for (const draw of draws) draw?.(colours)
  }
  drawAll()
  fill('theme', (place) => themeButton(place, drawAll))
}

function fill<made>(id: string, work: (place: HTMLElement) => made): made | undefined {
  const place = byId(id)
  return place === null ? undefined : work(place)
}

const LANES_SHOWN = 4

/** Each account in full, with its chain. */
function laneList({ lanes }: Data): Node {
  const items = lanes.map((lane) => element('li', {}, 'Account ', addressText(lane), ` on ${lane.chain}`))
  const list = () => element('ul', { class: 'lanes' }, ...items)
  return items.length > LANES_SHOWN ? opening([`The ${items.length} accounts`], list) : list()
}

function chooser(data: Data, chart: NonceChart | undefined): (transaction: Transaction) => void {
  return (transaction) => {
    chart?.select(transaction)
    openHistory(data, chart, transaction, true)
  }
}

/** Shows a transaction's history beside the chart. With `isFocused` it gets the focus, and gives it back when closed. */
function openHistory(
  data: Data,
  chart: NonceChart | undefined,
  transaction: Transaction,
  isFocused: boolean,
): void {
  const before = document.activeElement
  fill('history', (place) => {
    showHistory(place, transaction, data, () => {
      chart?.select(undefined)
      if (before instanceof HTMLElement) before.focus()
    })
    if (isFocused) place.querySelector('h3')?.focus({ preventScroll: true })
    const shown = isFocused ? place : byId('nonces')
    shown?.scrollIntoView({ block: 'nearest' })
  })
}

const text = byId('data')?.textContent
if (text) start(unpack(JSON.parse(text) as Payload))
