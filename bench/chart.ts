import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse, View } from 'vega'
import { compile, type TopLevelSpec } from 'vega-lite'
import type { Figure } from './claim.js'
import { checkLine, measuredOn, numberText } from './report.js'
import type { Measured, Results } from './result.js'

const WIDTH = 520
const BAR = 26
// In letters. Without a canvas Vega takes letters for wider than they are, and the picture with them.
const [TITLE_LINE, LINE] = [60, 84]
// A white ground: GitHub shows the picture on a dark page as well.
const COLOURS = { ours: '#2563eb', others: '#9ca3af', spread: '#111827', text: '#111827', quiet: '#4b5563' }
const FONT = 'Helvetica, Arial, sans-serif'

/** One picture a claim, beside the results. */
export async function writeCharts(folder: string, results: Results): Promise<void> {
  for (const [name, result] of Object.entries(results)) {
    if ('failed' in result || result.figures.length === 0) continue
    writeFileSync(join(folder, `${name}.svg`), `${await renderChart(chartOf(name, result))}\n`)
  }
}

/** The medians as bars, one panel a measure, with a line from the least to the most, and below whether it was reached. */
export function chartOf(name: string, result: Measured): TopLevelSpec {
  const measures = [...new Set(result.figures.map(({ measure }) => measure))]
  // A claim without peers measures txlane under several conditions, and names those.
  const named = result.figures.some(({ subject }) => namesUs(subject))
  const isOurs = ({ subject }: Figure) => !named || namesUs(subject)
  return {
    $schema: 'https://vega.github.io/schema/vega-lite/v5.json',
    title: {
      text: [...wrapped(`${name}: ${result.says}`, TITLE_LINE)],
      subtitle: [
        ...result.checks.flatMap((check) => wrapped(checkLine(check), LINE)),
        ...wrapped(`Bars are medians; lines go from the least to the most. ${measuredOn(result)}`, LINE),
      ],
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
    spacing: 28,
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
    vconcat: measures.map((measure) =>
      panelOf(
        result.figures.filter((figure) => figure.measure === measure),
        isOurs,
      ),
    ),
  } as TopLevelSpec
}

const namesUs = (subject: string) => subject.startsWith('txlane')

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
    // Names whole, however long.
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

/** Pictures do not break lines by themselves. */
function wrapped(text: string, length: number): readonly string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + word.length < length) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines
}
