import type { Payload } from '../payload.js'
import { type Colours, readColours, themeButton } from './colours.js'
import { type Data, type Transaction, unpack } from './data.js'
import { byId } from './dom.js'
import { showHistory } from './history.js'
import { drawLatency, spreadTable } from './latencyChart.js'
import { busiestLane, createNonceChart } from './nonceChart.js'
import { problemTables } from './problemTables.js'
import { drawThroughput } from './throughputChart.js'
import { drawTools } from './tools.js'

type Draw = (colours: Colours) => void

/** Draws all parts of the page. A page without transactions has fewer elements to fill. */
function start(data: Data): void {
  const draws = [nonces(data), fill('latency', (place) => drawLatency(place, data))]
  fill('spreads', (place) => place.append(...[spreadTable(data)].filter((node) => node !== undefined)))
  draws.push(fill('throughput', (place) => drawThroughput(place, data)))
  const { groups, rows } = problemTables(data, (transaction) => choose(transaction, data))
  fill('groups', (place) => place.append(groups))
  fill('problems', (place) => place.append(rows))

  const drawAll = () => {
    const colours = readColours()
    for (const draw of draws) draw?.(colours)
  }
  drawAll()
  fill('theme', (place) => themeButton(place, drawAll))
}

function fill<made>(id: string, work: (place: HTMLElement) => made): made | undefined {
  const place = byId(id)
  return place === null ? undefined : work(place)
}

function nonces(data: Data): Draw | undefined {
  return fill('nonces', (place) => {
    const take = (transaction: Transaction) => choose(transaction, data)
    const chart = createNonceChart(place, data, take)
    fill('tools', (tools) =>
      drawTools(tools, data, busiestLane(data), { showLane: chart.showLane, choose: take }),
    )
    return chart.draw
  })
}

/** Shows a transaction's history beside the chart, scrolls to it, and focuses it. */
function choose(transaction: Transaction, data: Data): void {
  fill('history', (place) => {
    showHistory(place, transaction, data)
    place.querySelector('h3')?.focus({ preventScroll: true })
    place.scrollIntoView({ block: 'nearest' })
  })
}

const text = byId('data')?.textContent
if (text) start(unpack(JSON.parse(text) as Payload))
