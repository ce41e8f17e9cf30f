// Characters without a width, which spreadsheets, chats and web pages add: the soft hyphen, joiners, marks of
// direction, and the byte-order mark.
const INVISIBLE = '\\u00ad\\u034f\\u180e\\u200b-\\u200f\\u2060\\ufeff'
const EDGES = new RegExp(`^[\\s${INVISIBLE}]+|[\\s${INVISIBLE}]+$`, 'g')
/** How exports make spreadsheets keep a text: `="0x…"`. */
const AS_TEXT = /^="([^"]*)"$/
const PLAIN = /^[!-~]+(?: [!-~]+)*$/

/** The cell without space and invisible characters around it. Inside it, each run of space is one blank. */
export function clean(cell: string): string {
  if (PLAIN.test(cell) && !cell.startsWith('="')) return cell
  const [, inside] = AS_TEXT.exec(cell) ?? []
  if (inside !== undefined) return clean(inside)
  return cell.replace(EDGES, '').replace(/\s+/g, ' ')
}

const SHOWN_MAX = 80

/** The text in quotes for a message. Characters that cannot be seen are written as their codes. */
export function shown(text: string): string {
  const cut = text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}…` : text
  const seen = cut.replace(/[\p{C}\p{Z}]/gu, (each) =>
    each === ' ' ? each : `\\u{${each.codePointAt(0)?.toString(16)}}`,
  )
  return `"${seen}"`
}

const PREFIXED = /^(?:[a-z][a-z0-9-]*:|eip155:\d+:|ethereum:pay-)?0x[0-9a-f]{6,}(?:@\d+)?$/i
const BARE = /^[0-9a-f]{40}$/i
const ICAP = /^XE\d\d[0-9A-Z]{20,}$/i
const ENS = /^[^\s,;|=@/]+\.eth$/i
const NAME = /^[^\s,;|=@/:]+\.\p{L}{2,}$/u

/** Whether the cell has the form of a recipient that needs no context to be recognised, right or wrong. */
export function isAddressLike(cell: string): boolean {
  const text = clean(cell).replace(/^'/, '')
  return PREFIXED.test(text) || BARE.test(text) || ICAP.test(text) || ENS.test(text)
}

/** Whether a cell in a column of recipients has the form of one: an address or a name with dots. */
export function isRecipientLike(cell: string): boolean {
  return isAddressLike(cell) || NAME.test(clean(cell))
}

/** Whether the cell has the form of an amount, with or without a unit. */
export function isAmountLike(cell: string): boolean {
  return /^[^\d\s]{0,6} ?[.,]?\d[\d.,'’_ ]*(?:e[+-]?\d+)?(?: ?[^\d\s]{1,12})?$/i.test(clean(cell))
}
