import type uPlot from 'uplot'
import { duration, number } from '../model/words.js'
import type { Colours } from './colours.js'
import type { Data } from './data.js'
import { element, opening } from './dom.js'
import { legend } from './legend.js'
import { COUNT_STEPS, countAxis, createPlot } from './plot.js'
import { type Column, table } from './table.js'
import { tipAlong } from './tipAlong.js'

const STAGES = ['accepted', 'preconfirmed', 'sealed'] as const
type Stage = (typeof STAGES)[number]

/** The histogram: the bars of a bin stand side by side, and a line marks the median of each stage. */
export function drawLatency(place: HTMLElement, data: Data): ((colours: Colours) => void) | undefined {
  const { edgesMs, counts } = data.histogram
  if (edgesMs.length === 0) {
    place.classList.remove('chart')
    place.append(element('p', { class: 'empty' }, 'No transaction has both a recorded send and a stage.'))
    return undefined
  }
  const bins = edgesMs.length - 1
  const stages = STAGES.filter((stage) => data.spreads[stage])
  const peak = Math.max(1, ...stages.flatMap((stage) => counts[stage]))
  let shown: readonly Stage[] = stages
  const { u, draw } = createPlot(place, {
    name: `Latency histogram. ${medians(data)} The tables below have the numbers.`,
    scales: { x: { time: false, range: [0, bins] }, y: { range: [0, peak * 1.05] } },
    series: [{}, { show: true, paths: () => null, points: { show: false } }],
    axes: [
      {
        label: 'Time from the send to the stage',
        space: 64,
        incrs: COUNT_STEPS,
        values: (_, splits) => splits.map((edge) => duration(edgesMs[edge] ?? 0)),
      },
      { ...countAxis('Transactions'), incrs: COUNT_STEPS },
    ],
    data: [
      [0, bins],
      [null, null],
    ],
    paint: (plot, colours) => paintBars(plot, data, stages, shown, colours),
    cursor: { drag: { x: false, y: false } },
  })
  tipAlong(u, (x) => binTip(data, Math.floor(x)))
  place.before(
    legend(
      stages.map((name) => ({ name, mark: '■', colour: name })),
      (hidden) => {
        shown = stages.filter((stage) => !hidden.has(stage))
        u.redraw(false)
      },
    ),
  )
  return draw
}

function paintBars(
  u: uPlot,
  { histogram: { edgesMs, counts }, spreads }: Data,
  stages: readonly Stage[],
  shown: readonly Stage[],
  colours: Colours,
): void {
  const { ctx } = u
  const xOf = (bin: number) => u.valToPos(bin, 'x', true)
  const base = u.valToPos(0, 'y', true)
  // A quarter of a bin stays free between its neighbours.
  const width = ((xOf(1) - xOf(0)) * 0.84) / stages.length
  for (const [index, stage] of stages.entries()) {
    if (!shown.includes(stage)) continue
    ctx.fillStyle = colours(stage)
    for (const [bin, count] of counts[stage].entries()) {
      if (count === 0) continue
      const top = u.valToPos(count, 'y', true)
      const left = xOf(bin + 0.08) + index * width
      ctx.fillRect(
        Math.round(left),
        top,
        Math.max(1, Math.round(left + width) - Math.round(left)),
        base - top,
      )
    }
    const median = xOf(binOf(edgesMs, spreads[stage]?.p50 ?? 0))
    ctx.strokeStyle = colours(stage)
    ctx.lineWidth = 1.5 * devicePixelRatio
    ctx.setLineDash([6 * devicePixelRatio, 4 * devicePixelRatio])
    ctx.beginPath()
    ctx.moveTo(median, u.bbox.top)
    ctx.lineTo(median, base)
    ctx.stroke()
    ctx.setLineDash([])
  }
}

/** The place of a time among the bins, whose widths grow. */
function binOf(edgesMs: readonly number[], ms: number): number {
  const above = edgesMs.findIndex((edge) => edge > ms)
  const bin = Math.max(0, (above < 0 ? edgesMs.length - 1 : above) - 1)
  const [low = 0, high = low] = [edgesMs[bin], edgesMs[bin + 1]]
  return bin + (high > low ? Math.min(1, (ms - low) / (high - low)) : 0)
}

function binText({ histogram: { edgesMs } }: Data, bin: number): string {
  return `${duration(edgesMs[bin] ?? 0)} to ${duration(edgesMs[bin + 1] ?? 0)}`
}

function binTip(data: Data, bin: number): Node | undefined {
  if (data.histogram.edgesMs[bin + 1] === undefined) return undefined
  const lines = STAGES.filter((stage) => data.spreads[stage]).map((stage) =>
    element('div', {}, dot(stage), `${stage}: ${number(data.histogram.counts[stage][bin] ?? 0)}`),
  )
  return element('div', {}, element('strong', {}, binText(data, bin)), ...lines)
}

function medians({ spreads }: Data): string {
  const parts = STAGES.flatMap((stage) => {
    const spread = spreads[stage]
    return spread ? [`${stage} within ${duration(spread.p50)}`] : []
  })
  return `Half were ${parts.join(', ')}.`
}

function dot(stage: string): Node {
  return element('span', { class: 'dot', style: `background: var(--${stage})`, 'aria-hidden': 'true' })
}

/** The percentiles, and the bars as a table. */
export function latencyTables(data: Data): readonly Node[] {
  const { spreads, histogram } = data
  const rows = STAGES.flatMap((stage) => {
    const spread = spreads[stage]
    return spread === undefined ? [] : [{ stage, spread }]
  })
  if (rows.length === 0) return []
  type Row = (typeof rows)[number]
  const time = (name: string, key: 'p50' | 'p90' | 'p99' | 'max'): Column<Row> => ({
    name,
    class: key === 'p90' ? 'number wide' : 'number',
    cell: ({ spread }) => duration(spread[key]),
  })
  const spread = table({
    caption: 'Latency of each stage',
    rows,
    columns: [
      { name: 'from send to', class: 'event', cell: ({ stage }) => element('span', {}, dot(stage), stage) },
      { name: 'measured', class: 'number wide', cell: ({ spread: { count } }) => number(count) },
      time('half within', 'p50'),
      time('90 %', 'p90'),
      time('99 %', 'p99'),
      time('all', 'max'),
    ],
  })
  const bars = opening(['The bars as a table'], () =>
    table({
      caption: 'Transactions in each bin',
      rows: histogram.edgesMs.slice(0, -1).map((_, bin) => bin),
      columns: [
        { name: 'time from the send', class: '', cell: (bin) => binText(data, bin) },
        ...rows.map(({ stage }) => ({
          name: stage,
          class: 'number',
          cell: (bin: number) => number(histogram.counts[stage][bin] ?? 0),
        })),
      ],
    }),
  )
  return [spread, bars]
}
