import { number } from '../model/words.js'
import { axis, baseOption, type Chart, createChart, legend } from './charts.js'
import type { Colours } from './colours.js'
import { type Data, nonceOf, type Transaction } from './data.js'
import { LEGEND, nonceSeries } from './nonceSeries.js'
import { followPointer } from './pointer.js'
import { rowsInView } from './view.js'

export type NonceChart = {
  draw(colours: Colours): void
  showLane(lane: number): void
}

type Span = { readonly from: number; readonly to: number; readonly low: number; readonly high: number }

/** Nonces against time. What is drawn follows the zoom, so that it is quick with any number of transactions. */
export function createNonceChart(
  place: HTMLElement,
  data: Data,
  choose: (transaction: Transaction) => void,
): NonceChart {
  const chart = createChart(place, labelOf(data))
  const marked = new Set(data.problems.flatMap(({ transaction }) => transaction ?? []))
  let lane = busiestLane(data)
  let rows: readonly Transaction[] = []
  let colours: Colours | undefined
  let asked = false

  function inLane(): readonly Transaction[] {
    return data.transactions.filter((transaction) => transaction.lane === lane)
  }

  function drawRows(): void {
    asked = false
    if (colours === undefined) return
    const span = spanOf(chart)
    rows = rowsInView(
      inLane(),
      marked,
      (transaction) => span === undefined || isWithin(transaction, span, data.endedAt),
    )
    chart.setOption({ series: nonceSeries(data, lane, rows, colours) })
  }

  function draw(next: Colours): void {
    colours = next
    chart.setOption(frame(data, inLane(), colours, place.clientWidth), { notMerge: true })
    drawRows()
  }

  chart.on('datazoom', () => {
    if (!asked) requestAnimationFrame(drawRows)
    asked = true
  })
  followPointer({ chart, place, data, rows: () => rows, choose })
  return {
    draw,
    showLane(next) {
      lane = next
      if (colours) draw(colours)
    },
  }
}

export function busiestLane({ transactions, lanes }: Data): number {
  const counts = lanes.map(
    (_, lane) => transactions.filter((transaction) => transaction.lane === lane).length,
  )
  return Math.max(0, counts.indexOf(Math.max(...counts)))
}

function labelOf({ transactions }: Data): string {
  return `Chart of ${number(transactions.length)} transactions: the nonce of each against the time of each of its stages. The tables below hold what went wrong.`
}

function frame(
  data: Data,
  transactions: readonly Transaction[],
  colours: Colours,
  width: number,
): Parameters<Chart['setOption']>[0] {
  const nonces = transactions.map(nonceOf).filter((nonce) => nonce !== undefined)
  const low = nonces.reduce((least, nonce) => Math.min(least, nonce), nonces[0] ?? 0)
  const high = nonces.reduce((most, nonce) => Math.max(most, nonce), nonces[0] ?? 0)
  const isWide = width > 520
  const slider = {
    type: 'slider',
    filterMode: 'none',
    showDetail: false,
    showDataShadow: false,
    brushSelect: false,
    borderColor: colours('line'),
    fillerColor: colours('zoom'),
    handleStyle: { color: colours('raised'), borderColor: colours('quiet') },
    moveHandleStyle: { color: colours('line') },
    emphasis: {
      handleStyle: { borderColor: colours('accent') },
      moveHandleStyle: { color: colours('quiet') },
    },
  }
  const inside = { type: 'inside', filterMode: 'none', zoomOnMouseWheel: 'ctrl', moveOnMouseMove: true }
  return {
    ...baseOption(colours),
    grid: { left: 8, right: isWide ? 42 : 12, top: isWide ? 36 : 88, bottom: 46, containLabel: true },
    legend: { ...legend(colours), data: LEGEND },
    xAxis: { type: 'time', min: data.startedAt, max: data.endedAt, ...axis(colours) },
    yAxis: {
      type: 'value',
      min: low - 1,
      max: high + 1,
      minInterval: 1,
      ...axis(colours),
      // The ends are the data's, and stand too close to round numbers.
      axisLabel: { color: colours('quiet'), showMinLabel: false, showMaxLabel: false },
    },
    dataZoom: [
      { ...inside, xAxisIndex: 0 },
      { ...slider, xAxisIndex: 0, height: 20, bottom: 8 },
      ...(isWide ? [{ ...slider, yAxisIndex: 0, width: 18, right: 6 }] : []),
    ],
  }
}

/** What the axes show now. */
function spanOf(chart: Chart): Span | undefined {
  const bounds = (index: 'xAxis' | 'yAxis') => {
    const { height, width } = { height: chart.getHeight(), width: chart.getWidth() }
    const ends = index === 'xAxis' ? [0, width] : [height, 0]
    return ends.map((pixel) => Number(chart.convertFromPixel({ [`${index}Index`]: 0 }, pixel)))
  }
  const [[from, to], [low, high]] = [bounds('xAxis'), bounds('yAxis')]
  const all = [from, to, low, high]
  if (!all.every((one) => Number.isFinite(one))) return undefined
  return { from, to, low, high } as Span
}

function isWithin(transaction: Transaction, { from, to, low, high }: Span, endedAt: number): boolean {
  const nonce = nonceOf(transaction)
  const { entries } = transaction
  const first = entries[0]?.at ?? 0
  const isOpen = ['open', 'unresolved'].includes(transaction.outcome)
  const last = isOpen ? endedAt : (entries.at(-1)?.at ?? first)
  return nonce !== undefined && nonce >= low - 1 && nonce <= high + 1 && first <= to && last >= from
}
