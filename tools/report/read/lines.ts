import { StringDecoder } from 'node:string_decoder'

// Far above the length of an event, so that a file without line breaks is not read into memory as a whole.
const LINE_LENGTH_MAX = 1_048_576

export type Line = {
  /** Line number, from 1. */
  readonly number: number
  readonly text: string
  /** Whether the file ended in the middle of the line, as far as is known. */
  readonly unended: boolean
}

/** The lines of a stream without their line breaks. An overlong line is cut. */
export async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Line> {
  const decoder = new StringDecoder('utf8')
  let rest = ''
  let number = 0
  for await (const chunk of chunks) {
    const parts = (rest + decoder.write(chunk as Buffer)).split('\n')
    rest = parts.pop() ?? ''
    for (const text of parts) yield { number: ++number, text, unended: false }
    if (rest.length > LINE_LENGTH_MAX) break
  }
  rest = rest.slice(0, LINE_LENGTH_MAX)
  if (rest !== '') yield { number: number + 1, text: rest, unended: true }
}
