// Common style of all charts of the benchmarks.

export const WIDTH = 520
// A white background: GitHub also shows the charts on dark pages.
export const COLOURS = {
  ours: '#2563eb',
  others: '#9ca3af',
  spread: '#111827',
  text: '#111827',
  quiet: '#4b5563',
}
// In characters. Without a canvas Vega overestimates the width of text, and with it the width of the chart.
const [TITLE_LINE, LINE] = [60, 84]
const FONT = 'Helvetica, Arial, sans-serif'

export const namesUs = (subject: string) => subject.startsWith('txlane')

/** The title, the lines below it, the background and the fonts. */
export function pictureOf({ title, lines }: { readonly title: string; readonly lines: readonly string[] }) {
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
