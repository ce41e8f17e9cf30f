/**
 * A part of a text between white space, quotes, brackets and backslashes: the form of a URL in a sentence.
 */
export type Token = {
  readonly text: string
  readonly start: number
  /** The replacement text. Undefined if the token is shown as it is. */
  shown: string | undefined
}

// Every character belongs to at most one token, so no start is tried twice.
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
    // The white space around a completely hidden token is dropped too.
    if (token.shown !== '' || between.trim() !== '') result += between
    result += token.shown ?? token.text
    from = endOf(token)
  }
  return result + text.slice(from)
}
