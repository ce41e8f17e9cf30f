/** A piece of a text between white space, quotes, brackets and backslashes: what a URL may look like in a sentence. */
export type Token = {
  readonly text: string
  readonly start: number
  /** What is shown in its place. */
  shown: string | undefined
}

// Every character is part of one token or of none: no start is tried twice.
const TOKEN = /[^\s"'`<>()[\]{}\\]+/g

export function tokensOf(text: string): readonly Token[] {
  return [...text.matchAll(TOKEN)].map((match) => ({ text: match[0], start: match.index, shown: undefined }))
}

export const endOf = ({ start, text }: Token): number => start + text.length

export function textOf(text: string, tokens: readonly Token[]): string {
  let result = ''
  let from = 0
  for (const token of tokens) {
    const between = text.slice(from, token.start)
    // What is hidden as a whole leaves no gaps.
    if (token.shown !== '' || between.trim() !== '') result += between
    result += token.shown ?? token.text
    from = endOf(token)
  }
  return result + text.slice(from)
}
