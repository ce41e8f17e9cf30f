import { BarChart, CustomChart, LineChart, ScatterChart } from 'echarts/charts'
import {
  DataZoomComponent,
  GridComponent,
  LegendComponent,
  MarkAreaComponent,
  MarkLineComponent,
  TooltipComponent,
} from 'echarts/components'
import { type EChartsCoreOption, type EChartsType, init, use } from 'echarts/core'
import { CanvasRenderer } from 'echarts/renderers'
import type { Colours } from './colours.js'

// Only the used components, because the page contains their code.
use([
  BarChart,
  CustomChart,
  LineChart,
  ScatterChart,
  DataZoomComponent,
  GridComponent,
  LegendComponent,
  MarkAreaComponent,
  MarkLineComponent,
  TooltipComponent,
  CanvasRenderer,
])

export type Chart = EChartsType

/** A chart that fills its element, resizes with it, and has a label for screen readers. */
export function createChart(place: HTMLElement, label: string): Chart {
  place.setAttribute('role', 'img')
  place.setAttribute('aria-label', label)
  const chart = init(place, null, { renderer: 'canvas' })
  new ResizeObserver(() => chart.resize()).observe(place)
  return chart
}

/** Common options of all charts: no animation, the page's font, subdued axes. */
export function baseOption(colours: Colours): EChartsCoreOption {
  return {
    animation: false,
    backgroundColor: 'transparent',
    textStyle: { color: colours('text'), fontFamily: 'system-ui, sans-serif' },
  }
}

export function axis(colours: Colours): Record<string, unknown> {
  return {
    axisLine: { lineStyle: { color: colours('line') } },
    axisTick: { lineStyle: { color: colours('line') } },
    axisLabel: { color: colours('quiet'), hideOverlap: true },
    nameTextStyle: { color: colours('quiet') },
    splitLine: { lineStyle: { color: colours('line'), opacity: 0.5 } },
  }
}

export function legend(colours: Colours): Record<string, unknown> {
  return {
    top: 0,
    left: 0,
    right: 0,
    itemGap: 14,
    itemWidth: 16,
    itemHeight: 10,
    textStyle: { color: colours('text') },
    inactiveColor: colours('line'),
    pageIconColor: colours('text'),
    pageIconInactiveColor: colours('line'),
    pageTextStyle: { color: colours('quiet') },
  }
}

export function tooltip(colours: Colours): Record<string, unknown> {
  return {
    trigger: 'axis',
    confine: true,
    backgroundColor: colours('ground'),
    borderColor: colours('line'),
    textStyle: { color: colours('text'), fontSize: 13 },
    axisPointer: { type: 'shadow' },
  }
}
