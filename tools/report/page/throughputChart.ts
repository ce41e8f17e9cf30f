import { number } from '../model/words.js'
import { axis, baseOption, type Chart, createChart, legend, tooltip } from './charts.js'
import type { Colours } from './colours.js'
import type { Data } from './data.js'

// The lines also differ in their strokes.
const LINES = [
  { stage: 'sent', colour: 'queued', stroke: 'dotted' },
  { stage: 'accepted', colour: 'accepted', stroke: 'dashed' },
  { stage: 'sealed', colour: 'sealed', stroke: 'solid' },
] as const

export function drawThroughput(place: HTMLElement, data: Data): ((colours: Colours) => void) | undefined {
  const { throughput } = data
  if (throughput === null) return undefined
  const peaks = LINES.map(({ stage }) => `${number(Math.max(0, ...throughput.perSecond[stage]))} ${stage}`)
  const chart = createChart(place, `Throughput, maximum per second: ${peaks.join(', ')}`)
  return (colours) => chart.setOption(optionOf(throughput, colours), { notMerge: true })
}

function optionOf(
  { startedAt, binMs, perSecond }: NonNullable<Data['throughput']>,
  colours: Colours,
): Parameters<Chart['setOption']>[0] {
  const bins = perSecond.sent.length
  return {
    ...baseOption(colours),
    grid: { left: 8, right: 24, top: 34, bottom: 8, containLabel: true },
    legend: legend(colours),
    tooltip: {
      ...tooltip(colours),
      axisPointer: { type: 'line' },
      valueFormatter: (value: unknown) =>
        Array.isArray(value) ? `${number(Math.round(Number(value[1]) * 10) / 10)} per second` : String(value),
    },
    xAxis: {
      type: 'time',
      min: startedAt,
      max: startedAt + bins * binMs,
      ...axis(colours),
      splitLine: { show: false },
    },
    yAxis: { type: 'value', ...axis(colours) },
    series: LINES.map(({ stage, colour, stroke }) => ({
      type: 'line',
      name: stage,
      step: 'end',
      showSymbol: false,
      lineStyle: { color: colours(colour), type: stroke, width: stage === 'sealed' ? 2 : 1.7 },
      itemStyle: { color: colours(colour) },
      // The last bin is as wide as the others.
      data: [...perSecond[stage], perSecond[stage].at(-1) ?? 0].map((rate, bin) => [
        startedAt + bin * binMs,
        rate,
      ]),
    })),
  }
}
