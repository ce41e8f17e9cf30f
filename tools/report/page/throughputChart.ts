import uPlot from 'uplot'
import { duration, number } from '../model/words.js'
import type { Colours } from './colours.js'
import type { Data } from './data.js'
import { byId, element, opening } from './dom.js'
import { legend } from './legend.js'
import { countAxis, createPlot, timeAxis } from './plot.js'
import { table } from './table.js'
import { time } from './time.js'
import { tipAlong } from './tipAlong.js'

// The lines also differ in their strokes.
const LINES = [
  { stage: 'sent', colour: 'queued', dash: [2, 3], mark: '┈' },
  { stage: 'accepted', colour: 'accepted', dash: [7, 4], mark: '╌' },
  { stage: 'sealed', colour: 'sealed', dash: [], mark: '━' },
] as const

type Throughput = NonNullable<Data['throughput']>

/** The rate of each stage over time, as steps. */
export function drawThroughput(place: HTMLElement, data: Data): ((colours: Colours) => void) | undefined {
  const { throughput } = data
  if (throughput === null) return undefined
  const { startedAt, binMs, perSecond } = throughput
  const bins = perSecond.sent.length
  const starts = Array.from({ length: bins + 1 }, (_, bin) => startedAt + bin * binMs)
  const top = topOf(throughput)
  // The scale of the other lines, unless only the sends are shown.
  const isShown = ({ series }: uPlot) => series[2]?.show !== false || series[3]?.show !== false
  let colours: Colours = () => 'gray'
  const stepped = uPlot.paths.stepped?.({ align: 1 })
  const { u, draw } = createPlot(place, {
    name: `Throughput over time. ${peaks(throughput)} The table below has the numbers.`,
    scales: { x: { time: false }, y: { range: (plot, _, max) => [0, isShown(plot) ? top : max * 1.05] } },
    series: [
      {},
      ...LINES.map(({ colour, dash, stage }) => ({
        stroke: () => colours(colour),
        width: stage === 'sealed' ? 2 : 1.7,
        dash: [...dash],
        points: { show: false },
        ...(stepped ? { paths: stepped } : {}),
      })),
    ],
    axes: [timeAxis(), countAxis('Transactions per second')],
    // The last bin is as wide as the others.
    data: [starts, ...LINES.map(({ stage }) => [...perSecond[stage], perSecond[stage].at(-1) ?? 0])],
    cursor: { drag: { x: false, y: false } },
  })
  tipAlong(u, (at) => binTip(throughput, Math.floor((at - startedAt) / binMs)))
  place.before(
    legend(
      LINES.map(({ stage, mark, colour }) => ({ name: stage, mark, colour })),
      (hidden) => {
        for (const [index, { stage }] of LINES.entries()) u.setSeries(index + 1, { show: !hidden.has(stage) })
      },
    ),
  )
  const above = byId('above')
  const sent = peak(perSecond.sent)
  if (above && sent > top)
    above.textContent = ` The most sent in one second, ${number(round(sent))}, is above the chart.`
  place.after(ratesTable(throughput))
  return (next) => {
    colours = next
    draw(next)
  }
}

const peak = (rates: readonly number[]) => Math.max(0, ...rates)

/** A burst of sends would flatten the other lines: it is cut off. */
function topOf({ perSecond: { sent, accepted, sealed } }: Throughput): number {
  const others = peak([peak(accepted), peak(sealed)])
  return (others > 0 && peak(sent) > others * 3 ? others * 1.5 : peak([peak(sent), others, 1])) * 1.05
}

function peaks({ perSecond }: Throughput): string {
  const most = LINES.map(({ stage }) => `${number(round(peak(perSecond[stage])))} ${stage}`)
  return `The most in one second: ${most.join(', ')}.`
}

function round(rate: number): number {
  return Math.round(rate * 100) / 100
}

function binTip({ startedAt, binMs, perSecond }: Throughput, bin: number): Node | undefined {
  if (perSecond.sent[bin] === undefined) return undefined
  const lines = LINES.map(({ stage, colour, mark }) =>
    element(
      'div',
      {},
      element('span', { class: 'key', style: `color: var(--${colour})` }, mark),
      `${stage}: ${number(round(perSecond[stage][bin] ?? 0))} per second`,
    ),
  )
  const from = `${time(startedAt + bin * binMs).slice(0, 19)} UTC, for ${duration(binMs)}`
  return element('div', {}, element('strong', {}, from), ...lines)
}

function ratesTable({ startedAt, binMs, perSecond }: Throughput): Node {
  return opening(['The lines as a table'], () =>
    table({
      caption: 'Transactions per second over time',
      rows: perSecond.sent.map((_, bin) => bin),
      columns: [
        { name: 'from, in UTC', class: 'time', cell: (bin) => time(startedAt + bin * binMs).slice(0, 19) },
        ...LINES.map(({ stage }) => ({
          name: `${stage}/s`,
          class: 'number',
          cell: (bin: number) => number(round(perSecond[stage][bin] ?? 0)),
        })),
      ],
    }),
  )
}
