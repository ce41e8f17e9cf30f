import { duration, number } from '../model/words.js'
import { axis, baseOption, type Chart, createChart, legend, tooltip } from './charts.js'
import type { Colours } from './colours.js'
import type { Data } from './data.js'
import { element } from './dom.js'

const STAGES = ['accepted', 'preconfirmed', 'sealed'] as const

/** The histogram: the bars of a bin stand side by side, and a line marks the median of each stage. */
export function drawLatency(place: HTMLElement, data: Data): ((colours: Colours) => void) | undefined {
  const { edgesMs } = data.histogram
  if (edgesMs.length === 0) {
    place.classList.remove('chart')
    place.append(element('p', { class: 'empty' }, 'No transaction has both a recorded send and a stage.'))
    return undefined
  }
  const chart = createChart(place, `Latency histogram: ${medians(data)}`)
  return (colours) => chart.setOption(optionOf(data, colours), { notMerge: true })
}

function medians({ spreads }: Data): string {
  return STAGES.flatMap((stage) => {
    const spread = spreads[stage]
    return spread ? [`half ${stage} within ${duration(spread.p50)}`] : []
  }).join(', ')
}

function optionOf({ histogram, spreads }: Data, colours: Colours): Parameters<Chart['setOption']>[0] {
  const { edgesMs, counts } = histogram
  const bins = edgesMs
    .slice(0, -1)
    .map((edge, bin) => `${duration(edge)} – ${duration(edgesMs[bin + 1] ?? edge)}`)
  return {
    ...baseOption(colours),
    grid: { left: 8, right: 16, top: 34, bottom: 8, containLabel: true },
    legend: legend(colours),
    tooltip: { ...tooltip(colours), valueFormatter: (value: unknown) => number(Number(value)) },
    xAxis: {
      type: 'category',
      data: bins,
      ...axis(colours),
      splitLine: { show: false },
      axisLabel: {
        color: colours('quiet'),
        formatter: (bin: string) => bin.split(' – ')[0] ?? '',
        hideOverlap: true,
      },
    },
    yAxis: { type: 'value', minInterval: 1, ...axis(colours) },
    series: STAGES.filter((stage) => spreads[stage]).map((stage) => ({
      type: 'bar',
      name: stage,
      data: counts[stage],
      barGap: 0,
      barCategoryGap: '12%',
      itemStyle: { color: colours(stage) },
      markLine: {
        silent: true,
        symbol: 'none',
        label: { show: false },
        lineStyle: { color: colours(stage), type: 'dashed', width: 1.5 },
        data: [{ xAxis: binOf(edgesMs, spreads[stage]?.p50 ?? 0) }],
      },
    })),
  }
}

function binOf(edgesMs: readonly number[], ms: number): number {
  const above = edgesMs.findIndex((edge) => edge > ms)
  return Math.max(0, (above < 0 ? edgesMs.length - 1 : above) - 1)
}

/** The same data as a table. */
export function spreadTable({ spreads }: Data): Node | undefined {
  const rows = STAGES.flatMap((stage) => {
    const spread = spreads[stage]
    if (spread === undefined) return []
    const times = [spread.p50, spread.p90, spread.p99, spread.max].map((ms) =>
      element('td', { class: 'number' }, duration(ms)),
    )
    const dot = element('span', { class: 'dot', style: `background: var(--${stage})`, 'aria-hidden': 'true' })
    return [
      element(
        'tr',
        {},
        element('th', { scope: 'row' }, dot, stage),
        element('td', { class: 'number' }, number(spread.count)),
        ...times,
      ),
    ]
  })
  if (rows.length === 0) return undefined
  const names = ['half within', '90 %', '99 %', 'all']
  const head = element(
    'tr',
    {},
    element('th', { scope: 'col' }, 'from send to'),
    element('th', { scope: 'col', class: 'number' }, 'count'),
    ...names.map((name) => element('th', { scope: 'col', class: 'number' }, name)),
  )
  return element(
    'div',
    { class: 'scroll' },
    element('table', {}, element('thead', {}, head), element('tbody', {}, ...rows)),
  )
}
