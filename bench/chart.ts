import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse, View } from 'vega'
import { compile, type TopLevelSpec } from 'vega-lite'
import type { Figure } from './claim.js'
import { curvesOf } from './curves.js'
import { COLOURS, namesUs, pictureOf, WIDTH } from './picture.js'
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
