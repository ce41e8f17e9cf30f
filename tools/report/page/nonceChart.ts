import { number } from '../model/words.js'
import { axis, baseOption, type Chart, createChart, legend } from './charts.js'
import type { Colours } from './colours.js'
import { type Data, nonceOf, type Problem, type Transaction } from './data.js'
import { LEGEND, nonceSeries, rowsInView } from './nonceSeries.js'
import { followPointer } from './pointer.js'

export type NonceChart = {
  draw(colours: Colours): void
  showLane(lane: number): void
}

type Span = { readonly from: number; readonly to: number }

// Below this width in pixels the legend takes two lines.
const WIDE = 520

/**
 * Nonces over time. Only the zoomed range is drawn, so that the chart is fast with any number of
 * transactions.
 */
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
  let span: Span = { from: data.startedAt, to: data.endedAt }
  let isAsked = false
  let isWide = place.clientWidth > WIDE

  function drawRows(): void {
    isAsked = false
    if (colours === undefined) return
    const inView = data.transactions.filter(
      (transaction) => transaction.lane === lane && isWithin(transaction, span, data.endedAt),
    )
    rows = rowsInView(inView, marked)
    const holds = ({ at }: Problem) => at >= span.from && at <= span.to
    // The axis covers the nonces of the visible time: a short part of a long run would otherwise be a flat
    // line.
    chart.setOption({ yAxis: boundsOf(inView), series: nonceSeries(data, lane, rows, holds, colours) })
  }

  function draw(next: Colours): void {
    colours = next
    chart.setOption(frame(data, span, isWide, colours), { notMerge: true })
    drawRows()
  }

  chart.on('datazoom', () => {
    if (!isAsked) requestAnimationFrame(drawRows)
    isAsked = true
    span = spanOf(chart) ?? span
  })
  new ResizeObserver(() => {
    if (isWide === place.clientWidth > WIDE) return
    isWide = !isWide
    if (colours) draw(colours)
  }).observe(place)
  followPointer({ chart, place, data, rows: () => rows, choose })
  return {
    draw,
    showLane(next) {
      lane = next
      drawRows()
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
  return `Chart of ${number(transactions.length)} transactions: nonce over time, with the stages of each transaction. The tables below list the problems.`
}

function frame(data: Data, span: Span, isWide: boolean, colours: Colours): Parameters<Chart['setOption']>[0] {
  const zoom = { xAxisIndex: 0, filterMode: 'none', startValue: span.from, endValue: span.to }
  return {
    ...baseOption(colours),
    grid: { left: 8, right: 16, top: isWide ? 36 : 74, bottom: 46, containLabel: true },
    legend: { ...legend(colours), data: LEGEND },
    xAxis: { type: 'time', min: data.startedAt, max: data.endedAt, ...axis(colours) },
    yAxis: {
      type: 'value',
      minInterval: 1,
      ...axis(colours),
      // The first and last labels are arbitrary numbers, too close to round ones.
      axisLabel: { color: colours('quiet'), showMinLabel: false, showMaxLabel: false },
    },
    dataZoom: [
      // The wheel without a key scrolls the page.
      { ...zoom, type: 'inside', zoomOnMouseWheel: 'ctrl', moveOnMouseMove: true },
      { ...zoom, ...slider(colours) },
    ],
  }
}

function slider(colours: Colours): Record<string, unknown> {
  return {
    type: 'slider',
    height: 20,
    bottom: 8,
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
}

/** The visible time range. */
function spanOf(chart: Chart): Span | undefined {
  const [zoom] = (chart.getOption() as { dataZoom?: readonly Record<string, unknown>[] }).dataZoom ?? []
  const [from, to] = [Number(zoom?.startValue), Number(zoom?.endValue)]
  return Number.isFinite(from) && Number.isFinite(to) ? { from, to } : undefined
}

function boundsOf(transactions: readonly Transaction[]): { min: number; max: number } {
  let [min, max] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const transaction of transactions) {
    const nonce = nonceOf(transaction) ?? 0
    min = Math.min(min, nonce)
    max = Math.max(max, nonce)
  }
  return max < min ? { min: 0, max: 1 } : { min: min - 1, max: max + 1 }
}

function isWithin(transaction: Transaction, { from, to }: Span, endedAt: number): boolean {
  const { entries, outcome } = transaction
  const first = entries[0]?.at ?? 0
  const isOpen = ['open', 'unresolved'].includes(outcome)
  const last = isOpen ? endedAt : (entries.at(-1)?.at ?? first)
  return nonceOf(transaction) !== undefined && first <= to && last >= from
}
