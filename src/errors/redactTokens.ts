import { hostOf, redactUrl } from './redactUrl.js'
import {
  isDoubtfulName,
  isHarmless,
  isHashName,
  isKeyName,
  isPhraseName,
  isSecretName,
  isUrlName,
  looksRandom,
  nameOf,
} from './secretWords.js'

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

const endOf = ({ start, text }: Token): number => start + text.length

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

/** The 32-byte hex values that are kept: all except announced secrets, those named as a hash, or none. */
export type Hashes = 'all' | 'named' | 'never'

export type Rule = {
  readonly hashes: Hashes
  /** If true, parts of a path that look like an API key are hidden. */
  readonly paths: boolean
}

const HIDDEN = '<redacted>'
const BYTES = '<bytes>'

// Number of preceding words in which a secret may be announced: `private key of the account is 0x…`.
const ANNOUNCED_WORDS = 5

/** The context before a token, as far as it affects the token. */
type Before = {
  /** Recent names, newest last. */
  readonly names: string[]
  /** Set if a name with a colon or an equals sign announced a value. */
  announced: 'value' | 'phrase' | undefined
  /** The position of the quote that closes a hidden value. */
  hiddenTo: number
  /**
   * The end of the last hidden value. Text directly after it, without white space or a quote, belongs to it.
   */
  gluedTo: number
}

/** Sets the replacement text of each token. One pass; each token is read a fixed number of times. */
export function redactTokens(text: string, tokens: readonly Token[], rule: Rule): void {
  const before: Before = { names: [], announced: undefined, hiddenTo: -1, gluedTo: -1 }
  const closing = createClosing(text)
  for (const token of tokens) {
    if (token.shown !== undefined) before.announced = undefined
    else if (token.start < before.hiddenTo) token.shown = ''
    else if (isGlued(text, token, before)) token.shown = ''
    else if (before.announced !== undefined) hideAnnounced(token, before, closing)
    else token.shown = shownOf(token, before, rule)
    // A pair in a list: `['x-api-key', '…']`.
    if (isSecretName(nameOf(token.text)) && /^["'`],/.test(text.slice(endOf(token), endOf(token) + 2)))
      before.announced = 'value'
  }
}

// --- announced values -------------------------------------------------------------------------------------

type Closing = (token: Token) => number | undefined

/**
 * Finds the quote that closes the quote just before a token. Each kind of quote is searched to the end of the
 * text only once.
 */
function createClosing(text: string): Closing {
  const missing = new Set<string>()
  return ({ start, text: own }) => {
    const quote = text[start - 1] ?? ''
    const isEscaped = text[start - 2] === '\\'
    const mark = `${isEscaped}${quote}`
    if (!/["'`]/.test(quote) || missing.has(mark)) return undefined
    for (let at = start + own.length; ; at++) {
      at = text.indexOf(quote, at)
      if (at === -1) break
      if ((text[at - 1] === '\\') === isEscaped) return at
    }
    missing.add(mark)
    return undefined
  }
}

function hideAnnounced(token: Token, before: Before, closing: Closing): void {
  const { text } = token
  // In `"password" : "…"` the value is the next token.
  if (/^[:=>,-]+$/.test(text)) return
  const wasPhrase = before.announced === 'phrase'
  before.announced = undefined
  if (isHarmless(text)) return
  // In `Authorization: Bearer …` the credential is the next token.
  if (/^(?:bearer|basic)$/i.test(text)) {
    before.announced = 'value'
    return note(before, nameOf(text))
  }
  token.shown = HIDDEN
  const quoteAt = closing(token)
  if (quoteAt !== undefined) before.hiddenTo = quoteAt
  // In `?a= token="…"` the apparent value is a name, and announces the next one.
  if (announces(text)) before.announced = 'value'
  // A phrase continues while words follow.
  else if (quoteAt === undefined && wasPhrase && /^\p{L}+,?$/u.test(text)) before.announced = 'phrase'
  else if (quoteAt === undefined) before.gluedTo = endOf(token)
  note(before, HIDDEN)
}

/**
 * True if the token directly follows a hidden value and so belongs to it. Punctuation does not belong to it.
 */
function isGlued(text: string, token: Token, before: Before): boolean {
  if (before.gluedTo === -1) return false
  const isApart = /[\s"'`<>]/.test(text.slice(before.gluedTo, token.start))
  before.gluedTo = isApart ? -1 : endOf(token)
  return !isApart && /[\p{L}\p{N}]/u.test(token.text)
}

// --- other tokens ----------------------------------------------------------------------------------------------------

function shownOf(token: Token, before: Before, rule: Rule): string {
  const text = rule.hashes === 'never' ? withoutBase64(token.text) : token.text
  const shown = credentialShown(text, before) ?? placeShown(text, before, rule)
  if (shown !== undefined) {
    before.gluedTo = endOf(token)
    return shown
  }
  const parts = partsShown(text, before, rule)
  if (parts.endsWith(HIDDEN)) before.gluedTo = endOf(token)
  return parts
}

// 32 bytes take 43 characters of base64.
const BASE64 = /[\w+/-]{40,}={0,2}/g

/**
 * Code that knows a key may print it in base64. Slashes and pluses would split it into parts that look like
 * words.
 */
function withoutBase64(text: string): string {
  return text.replace(BASE64, (run) => (looksRandom(run.replace(/[+/=]/g, '')) ? HIDDEN : run))
}

function credentialShown(text: string, before: Before): string | undefined {
  if (!isCredential(text, before)) return undefined
  note(before, HIDDEN)
  return HIDDEN
}

/** The replacement of a URL, with or without a scheme, or of `user:password@host`. */
function placeShown(text: string, before: Before, rule: Rule): string | undefined {
  const schemeAt = schemeStart(text)
  if (schemeAt !== -1) {
    const [ahead, url] = [text.slice(0, schemeAt), text.slice(schemeAt)]
    const shown = urlShown(url)
    if (shown === undefined) return undefined
    const aheadShown = /[/@?]/.test(ahead) ? HIDDEN : partsShown(ahead, before, rule)
    return `${aheadShown}${hexShown(shown, before, 'never')}`
  }
  const at = text.lastIndexOf('@')
  const colon = text.indexOf(':')
  if (colon !== -1 && colon < at) return `${HIDDEN}@${text.slice(at + 1).split(/[/?#]/, 1)[0] ?? ''}`
  return hostShown(text, before, rule)
}

// A longer one is a value glued to other text.
const NAME_LENGTH_MAX = 24

/** True if the token is only a name, whose value comes next. */
function announces(text: string): boolean {
  return /[:=]$/.test(text) && text.length <= NAME_LENGTH_MAX && isSecretName(nameOf(text))
}

/** True if the token after `Bearer` or `Basic` is not an ordinary word of the sentence. */
function isCredential(text: string, { names }: Before): boolean {
  const scheme = names.at(-1)
  if (announces(text)) return false
  if (scheme === 'bearer') return !BEARER_PROSE.has(nameOf(text)) && /[a-z0-9]/i.test(text)
  if (scheme !== 'basic') return false
  return names.at(-2) === 'authorization' || /[0-9=]|[a-z][A-Z]|[A-Z]{2}/.test(text)
}

const BEARER_PROSE: ReadonlySet<string> = new Set(
  'auth authentication authorization credential credentials error expected format from has header in invalid is missing must not of or realm required scheme token tokens was'.split(
    ' ',
  ),
)

/**
 * The position at which the scheme of a URL begins in a token: letters, digits, `+`, `.` and `-` before
 * `://`; -1 if there is none.
 */
function schemeStart(text: string): number {
  const colon = text.indexOf('://')
  if (colon === -1) return WEB_SCHEME.exec(text)?.index ?? -1
  let start = colon
  while (start > 0 && /[a-z0-9+.-]/i.test(text[start - 1] ?? '')) start--
  return start
}

// A scheme with one or both slashes missing. URL parsers accept these as well.
const WEB_SCHEME = /\b(?:https?|wss?):(?=[^\s.,;:])/i

/** The replacement of a URL. Undefined if it contains nothing to hide. */
function urlShown(url: string): string | undefined {
  // A scheme without a host, as in "begins with https://.", hides nothing.
  if (!/[\p{L}\p{N}]/u.test(url.slice(url.indexOf(':') + 1))) return undefined
  // The location of code in a stack.
  if (/^file:\/\/\/[^?#]*$/i.test(url)) return undefined
  return redactUrl(url)
}

function hostShown(text: string, before: Before, rule: Rule): string | undefined {
  const end = text.search(/[/?#]/)
  if (end < 1) return undefined
  const head = text.slice(0, end)
  const from = Math.max(...['=', ',', '|'].map((mark) => head.lastIndexOf(mark))) + 1
  const host = hostOf(head.slice(from)) ?? hostOf(head.slice(head.indexOf(':') + 1))
  if (host !== undefined)
    return `${partsShown(head.slice(0, -host.length), before, rule)}${partShown(host, before, 'never', true)}`
  const isAnnounced = text[end] === '/' && before.names.slice(-2).some(isUrlName)
  return isAnnounced && /^[\w-]+$/.test(head) ? partShown(head, before, 'never', true) : undefined
}

const BETWEEN_PARTS = /([:=&?,;|/#]+)/

/** Redacts names with their values, and parts of a path. */
function partsShown(text: string, before: Before, { hashes, paths }: Rule): string {
  const parts = text.split(BETWEEN_PARTS)
  const isPlace = paths && /[/?]/.test(text) && !CODE.test(text)
  let shown = ''
  let hiding = false
  for (let at = 0; at < parts.length; at += 2) {
    const [ahead = '', part = '', between = ''] = [parts[at - 1], parts[at], parts[at + 1]]
    // `base64==` and `user:password` are one value each; `a=1&b=2` are two.
    if (hiding && !/[&,;|]/.test(ahead)) continue
    if (hiding) shown += ahead
    hiding = isNamed(part, between, before) || (/[?&]/.test(ahead) && between.startsWith('='))
    const own = partShown(part, before, hashes, isPlace)
    if (part !== '') note(before, nameOf(part))
    shown += own
    if (!hiding) shown += between
    else if ((parts[at + 2] ?? '') === '') {
      // The value is the next token.
      before.announced = isPhraseName(lastTwo(before)) ? 'phrase' : 'value'
      shown += between
    } else shown += `${between}${isHarmless(parts[at + 2] ?? '') ? parts[at + 2] : HIDDEN}`
  }
  return shown
}

// A line of code in a stack.
const CODE = /\.[cm]?[jt]sx?:\d+:\d+$/

function isNamed(part: string, between: string, before: Before): boolean {
  if (!/[:=]/.test(between)) return false
  return isSecretName(nameOf(part)) || isSecretName(`${before.names.at(-1) ?? ''}${nameOf(part)}`)
}

const lastTwo = ({ names }: Before): string => names.slice(-2).join('')

function partShown(part: string, before: Before, hashes: Hashes, isPlace: boolean): string {
  if (/^eyJ[\w-]{10}/.test(part)) return HIDDEN
  if (HEX.test(part)) return hexShown(part, before, hashes)
  const isSuspect =
    isPlace || hashes === 'never' || isDoubtfulName(before.names.at(-1) ?? '') || isNear(before, isSecretName)
  return isSuspect ? part.replace(RANDOM, (run) => (looksRandom(run) ? HIDDEN : run)) : part
}

const RANDOM = /[\w-]{16,}/g

// At least 30 bytes, because a key that lost some digits still has to be hidden.
const HEX = /(?:0x)?[0-9a-f]{60,}/i
const HEX_ALL = new RegExp(HEX, 'gi')
const HASH = /^(?:0x)?[0-9a-f]{64}$/i

function hexShown(text: string, before: Before, hashes: Hashes): string {
  return text.replace(HEX_ALL, (hex) => {
    if (HASH.test(hex)) return isHash(before, hashes) ? hex : HIDDEN
    return hex.length > HASH_CHARS ? BYTES : HIDDEN
  })
}

const HASH_CHARS = 66

function isHash(before: Before, hashes: Hashes): boolean {
  if (hashes === 'never' || isNear(before, isKeyName)) return false
  return hashes === 'all' || isHashName(before.names.at(-1) ?? '')
}

function isNear({ names }: Before, is: (name: string) => boolean): boolean {
  return names.some((name, at) => is(name) || is(`${names[at - 1] ?? ''}${name}`))
}

function note({ names }: Before, name: string): void {
  if (name === '') return
  names.push(name)
  if (names.length > ANNOUNCED_WORDS) names.shift()
}
