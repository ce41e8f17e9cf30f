import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse, View } from 'vega'
import { compile, type TopLevelSpec } from 'vega-lite'
import type { Curves, Figure } from './claim.js'
import { checkLine, measuredOn, numberText } from './report.js'
import { isMeasured, type Measured, type Results } from './result.js'

const BAR = 26

/** Writes one chart per claim beside the results, and one of its curves if it has any. */
export async function writeCharts(folder: string, results: Results): Promise<void> {
  for (const [name, result] of Object.entries(results)) {
    if (!isMeasured(result) || result.figures.length === 0) continue
    const write = async (file: string, spec: TopLevelSpec) =>
      writeFileSync(join(folder, `${file}.svg`), `${await renderChart(spec)}\n`)
    await write(name, chartOf(name, result))
    if (result.curves) await write(`${name}-${result.curves.name}`, curvesOf(result.curves, result))
  }
}

/**
 * Medians as bars, one panel per measure, with a line from the least to the most value, and the checks below
 * the title.
 */
export function chartOf(name: string, result: Measured): TopLevelSpec {
  const measures = [...new Set(result.figures.map(({ measure }) => measure))]
  // A claim without peers measures txlane under several conditions; its subjects are named after those.
  const named = result.figures.some(({ subject }) => namesUs(subject))
  const isOurs = ({ subject }: Figure) => !named || namesUs(subject)
  return {
    $schema: 'https://vega.github.io/schema/vega-lite/v5.json',
    ...pictureOf({
      title: `${name}: ${result.says}`,
      lines: [
        ...result.checks.map(checkLine),
        `Bars are medians; lines span the least and the most value. ${measuredOn(result)}`,
      ],
    }),
    spacing: 28,
    vconcat: measures.map((measure) =>
      panelOf(
        result.figures.filter((figure) => figure.measure === measure),
        isOurs,
      ),
    ),
  } as TopLevelSpec
}

function panelOf(figures: readonly Figure[], isOurs: (figure: Figure) => boolean) {
  const [{ measure, unit } = { measure: '', unit: '' }] = figures
  const values = figures.map((figure) => ({
    ...figure,
    ours: isOurs(figure),
    shown: numberText(figure.median),
  }))
  // Room for the number beside the longest bar.
  const most = Math.max(...figures.map((figure) => figure.most)) * 1.15 || 1
  const least = Math.min(0, ...figures.map((figure) => figure.least))
  const x = (field: string) => ({
    field,
    type: 'quantitative',
    title: `${measure}, ${unit}`,
    scale: { domain: [least, most], nice: false },
    axis: { grid: false, tickCount: 5 },
  })
  const y = {
    field: 'subject',
    type: 'nominal',
    sort: null,
    title: null,
    // Never truncate subject names.
    axis: { labelLimit: 0, ticks: false },
  }
  const colour = {
    condition: { test: 'datum.ours', value: COLOURS.ours },
    value: COLOURS.others,
  }
  return {
    width: WIDTH,
    height: { step: BAR },
    data: { values },
    encoding: { y },
    layer: [
      { mark: { type: 'bar', height: BAR * 0.6 }, encoding: { x: x('median'), color: colour } },
      { mark: { type: 'rule', color: COLOURS.spread }, encoding: { x: x('least'), x2: { field: 'most' } } },
      {
        mark: { type: 'text', align: 'left', dx: 6, fontSize: 11, color: COLOURS.text },
        encoding: { x: x('most'), text: { field: 'shown' } },
      },
    ],
  }
}

export async function renderChart(spec: TopLevelSpec): Promise<string> {
  const view = new View(parse(compile(spec).spec), { renderer: 'none' })
  try {
    return await view.toSVG()
  } finally {
    view.finalize()
  }
}

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

// Common style of all charts of the benchmarks.

const WIDTH = 520
// A white background: GitHub also shows the charts on dark pages.
const COLOURS = {
  ours: '#2563eb',
  others: '#9ca3af',
  spread: '#111827',
  text: '#111827',
  quiet: '#4b5563',
}
// In characters. Without a canvas Vega overestimates the width of text, and with it the width of the chart.
const [TITLE_LINE, LINE] = [60, 84]
const FONT = 'Helvetica, Arial, sans-serif'

const namesUs = (subject: string) => subject.startsWith('txlane')

/** The title, the lines below it, the background and the fonts. */
function pictureOf({ title, lines }: { readonly title: string; readonly lines: readonly string[] }) {
  return {
    title: {
      text: [...wrapped(title, TITLE_LINE)],
      subtitle: lines.flatMap((line) => wrapped(line, LINE)),
      anchor: 'start',
      frame: 'bounds',
      fontSize: 15,
      subtitleFontSize: 11,
      subtitleColor: COLOURS.quiet,
      subtitlePadding: 6,
      offset: 16,
    },
    background: 'white',
    padding: 16,
    config: {
      font: FONT,
      view: { stroke: null },
      axis: {
        labelColor: COLOURS.text,
        titleColor: COLOURS.quiet,
        titleFontWeight: 'normal',
        labelFontSize: 11,
      },
    },
  }
}

/** Charts do not wrap lines by themselves. */
function wrapped(text: string, length: number): readonly string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + word.length < length) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines
}
