import type { Hex } from 'viem'

/** A line of a file as an earlier run stored it, for comparisons. */
export type LineText = {
  readonly line: number
  readonly id: string
  readonly shown: string
  /** Hash of the payment or the call. */
  readonly content: Hex
}

/** The differences between two versions of a file, one text for each. */
export function differencesOf(was: readonly LineText[], now: readonly LineText[]): readonly string[] {
  const [before, after] = [byId(was), byId(now)]
  return [
    ...was
      .filter(({ id }) => !after.has(id))
      .map((row) => `  gone: line ${row.line}, ${row.shown} (${row.id})`),
    ...now
      .filter(({ id }) => !before.has(id))
      .map((row) => `  new: line ${row.line}, ${row.shown} (${row.id})`),
    ...now.flatMap((row) => {
      const old = before.get(row.id)
      if (old === undefined || old.content === row.content) return []
      return [`  changed: line ${row.line} (${row.id}), was ${old.shown}, is ${row.shown}`]
    }),
  ]
}

const byId = (rows: readonly LineText[]) => new Map(rows.map((row) => [row.id, row]))

const SHOWN_MAX = 10

/** The first differences, and the number of the others. */
export function differenceText(lines: readonly string[]): string {
  const more = lines.length > SHOWN_MAX ? [`  … and ${lines.length - SHOWN_MAX} more`] : []
  return [...lines.slice(0, SHOWN_MAX), ...more].join('\n')
}
