// The licence of the bundled chart library asks for its notice.
/*! Contains uPlot, Copyright (c) 2025 Leon Sorokin, MIT License */
import uPlot from 'uplot'
import type { Colours } from './colours.js'
import { TIME_STEPS, timeMark, timeTitle } from './time.js'

export type Plot = {
  readonly u: uPlot
  /** Draws it anew, in these colours. */
  draw(colours: Colours): void
}

/** Options that the charts choose; the others are the same in all charts. */
export type PlotOptions = Pick<uPlot.Options, 'scales' | 'series' | 'cursor'> & {
  /** The text that replaces the picture for a screen reader. */
  readonly name: string
  readonly axes: readonly uPlot.Axis[]
  readonly data: uPlot.AlignedData
  /** Draws shapes that no series of uPlot has, inside the plotting area. */
  readonly paint?: (u: uPlot, colours: Colours) => void
}

const AXIS_FONT = '12px system-ui, sans-serif'

/** A chart that fills its element, resizes with it, and has a name for screen readers. */
export function createPlot(place: HTMLElement, options: PlotOptions): Plot {
  let colours: Colours = () => 'gray'
  const { name, data, paint, scales = {}, series, cursor = {} } = options
  const clipped = (u: uPlot) => {
    if (paint === undefined) return
    const { ctx, bbox } = u
    ctx.save()
    ctx.beginPath()
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height)
    ctx.clip()
    paint(u, colours)
    ctx.restore()
  }
  const u = new uPlot(
    {
      ...sizeOf(place),
      legend: { show: false },
      scales,
      series,
      cursor: { x: false, y: false, points: { show: false }, ...cursor },
      axes: options.axes.map((axis) => ({ ...axisBase(() => colours), ...axis })),
      padding: [8, 40, 0, 0],
      hooks: { draw: [clipped] },
    },
    data,
    place,
  )
  const { canvas } = u.ctx
  canvas.setAttribute('role', 'img')
  canvas.setAttribute('aria-label', name)
  new ResizeObserver(() => u.setSize(sizeOf(place))).observe(place)
  return {
    u,
    draw(next) {
      colours = next
      u.redraw(false)
    },
  }
}

function sizeOf({ clientWidth, clientHeight }: HTMLElement): { width: number; height: number } {
  return { width: Math.max(160, clientWidth), height: clientHeight }
}

function axisBase(colours: () => Colours): uPlot.Axis {
  const line = { stroke: () => colours()('line'), width: 1 }
  return {
    stroke: () => colours()('quiet'),
    font: AXIS_FONT,
    labelFont: AXIS_FONT,
    size: 30,
    labelSize: 20,
    labelGap: 0,
    grid: line,
    ticks: { ...line, size: 5 },
    border: { show: true, ...line },
  }
}

// 1, 2 and 5 times each power of ten.
export const COUNT_STEPS = Array.from({ length: 9 }, (_, power) =>
  [1, 2, 5].map((digit) => digit * 10 ** power),
).flat()

/** An axis of counts, as wide as its longest number. */
export function countAxis(label: string): uPlot.Axis {
  return {
    label,
    size: (u, values) => {
      const longest = Math.max(1, ...(values ?? []).map((value) => value.length))
      u.ctx.font = AXIS_FONT
      return 14 + longest * 7
    },
    values: (_, splits) => splits.map((value) => value.toLocaleString('en-US')),
  }
}

const LABEL_WIDTH = 76

/** An axis of time in UTC, with the date in its title. */
export function timeAxis(): uPlot.Axis {
  return {
    label: (u) => timeTitle(u.scales.x?.min ?? 0, u.scales.x?.max ?? 0),
    incrs: TIME_STEPS,
    // Marks with milliseconds have longer texts.
    space: (_, __, min, max, pixels) => (((max - min) / pixels) * LABEL_WIDTH < 1_000 ? 104 : LABEL_WIDTH),
    values: (_, splits, __, ___, stepMs) => splits.map((at) => timeMark(at, stepMs)),
  }
}
