/** The text of a file, with one kind of line end. Each pass decodes it again. */
export type Text = {
  /** At least `START` characters, or all of a shorter text. */
  readonly start: string
  /** Pieces of the text, some lines each, which end with a line. */
  lines(): Iterable<string>
  /** Pieces of the text, cut anywhere. */
  parts(): Iterable<string>
  whole(): string
}

export const START = 65_536

/** `parts` returns the text in parts of any length. */
export function textOf(parts: () => Iterable<string>): Text {
  return {
    start: startOf(withLineEnds(parts())),
    lines: () => wholeLines(withLineEnds(parts())),
    parts: () => withLineEnds(parts()),
    whole: () => [...withLineEnds(parts())].join(''),
  }
}

function startOf(parts: Iterable<string>): string {
  let start = ''
  for (const part of parts) {
    start += part
    if (start.length > START) break
  }
  return start
}

/** One kind of line end: the lines of old Macs and of mixed files are counted as editors count them. */
function* withLineEnds(parts: Iterable<string>): Generator<string> {
  let cut = ''
  for (const part of parts) {
    const text = cut + part
    // The other half of \r\n may begin the next part.
    cut = text.endsWith('\r') ? '\r' : ''
    const own = cut === '' ? text : text.slice(0, -1)
    yield own.includes('\r') ? own.replace(/\r\n?/g, '\n') : own
  }
  if (cut !== '') yield '\n'
}

function* wholeLines(parts: Iterable<string>): Generator<string> {
  let open: string[] = []
  for (const part of parts) {
    const end = part.lastIndexOf('\n') + 1
    open.push(part.slice(0, end || undefined))
    if (end === 0) continue
    yield open.join('')
    open = [part.slice(end)]
  }
  const rest = open.join('')
  if (rest !== '') yield rest
}

/** The lines of a piece, without their ends. */
export function linesIn(piece: string): readonly string[] {
  const lines = piece.split('\n')
  if (piece.endsWith('\n')) lines.pop()
  return lines
}
