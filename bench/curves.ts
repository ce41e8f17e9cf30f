import type { TopLevelSpec } from 'vega-lite'
import type { Curves } from './claim.js'
import { COLOURS, namesUs, pictureOf, WIDTH } from './picture.js'
import { measuredOn, numberText } from './report.js'
import type { Measured } from './result.js'

const HEIGHT = 300
// Distinguishable without red or green vision (Okabe and Ito), and none of them is txlane's colour.
const OTHERS = ['#e69f00', '#009e73', '#cc79a7', '#d55e00', '#56b4e9', '#6b7280']

/** A step line for each subject, extended to the right end of the chart. */
export function curvesOf(curves: Curves, result: Measured): TopLevelSpec {
  // Leaves room after the last step of the longest line.
  const end = 1.03 * Math.max(1, ...curves.series.flatMap(({ points }) => points.map(([x]) => x)))
  const named = curves.series.map(({ subject, points }, place) => ({
    name: `${subject}: ${endText(points, curves.unit)}`,
    ours: namesUs(subject),
    colour: namesUs(subject) ? COLOURS.ours : OTHERS[place % OTHERS.length],
    points: [...points, [end, points.at(-1)?.[1] ?? 0] as const],
  }))
  const values = named.flatMap(({ name, ours, points }) => points.map(([x, y]) => ({ name, ours, x, y })))
  return {
    $schema: 'https://vega.github.io/schema/vega-lite/v5.json',
    ...pictureOf({
      title: curves.title,
      lines: [`The median round of each subject. ${measuredOn(result)}`],
    }),
    width: WIDTH,
    height: HEIGHT,
    data: { values },
    mark: { type: 'line', interpolate: 'step-after' },
    encoding: {
      x: {
        field: 'x',
        type: 'quantitative',
        title: curves.x,
        scale: { domain: [0, end], nice: false },
        axis: { grid: false },
      },
      y: { field: 'y', type: 'quantitative', title: curves.y, axis: { grid: false } },
      color: {
        field: 'name',
        type: 'nominal',
        sort: null,
        title: null,
        scale: { domain: named.map(({ name }) => name), range: named.map(({ colour }) => colour) },
        legend: { orient: 'bottom', columns: 1, labelLimit: 0, symbolType: 'stroke', symbolStrokeWidth: 3 },
      },
      strokeWidth: { condition: { test: 'datum.ours', value: 3 }, value: 1.75 },
    },
  } as TopLevelSpec
}

/** `10,000 after 3.97 s`. */
function endText(points: readonly (readonly [x: number, y: number])[], unit: string): string {
  const [x, y] = points.at(-1) ?? [0, 0]
  return y === 0 ? 'none' : `${numberText(y)} after ${numberText(x)}${unit}`
}
