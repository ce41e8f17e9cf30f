/** Names, headers and options whose value is a secret. Compared by their letters only, in lower case. */
const SECRET_NAME =
  /(?:privatekey|signingkey|accesskey|secretkey|apikey|secret|password|passwd|passphrase|pwd|mnemonic|seedphrase|seedwords|recoveryphrase|token|credential|credentials|cookie|bearer)$/

/** These names have other uses too: their value is secret only if it looks like one. */
const DOUBTFUL_NAME = /(?:key|auth|authorization|pass|seed|sig|signature|session)$/

/** Words after which 32 bytes of hex may be a key, with up to a few words between. */
const KEY_NAME =
  /(?:privatekey|signingkey|accesskey|secretkey|apikey|secret|password|passphrase|mnemonic|seed|seedphrase)$/

/** Words after which 32 bytes of hex are a hash. */
const HASH_NAME =
  /(?:hash|hashes|tx|txn|txs|transaction|transactions|block|header|parent|root|topic|topics|uncle|receipt|attempt|known)$/

const PHRASE_NAME = /(?:mnemonic|phrase|seedwords)$/

/** A text without a scheme after one of these names is a URL. */
const URL_NAME = /(?:url|urls|uri|href|endpoint|rpc|host|websocket)$/

/**
 * English words that are not mnemonic words (BIP-39, english.txt). A sentence contains one of them every few
 * words, a mnemonic contains none.
 */
export const PROSE: ReadonlySet<string> = new Set(
  'and are but cannot could did does for from had has her his its may most nor not our per she than the their them these those too was were which with would'.split(
    ' ',
  ),
)

// Longer than every name in the patterns, which match the end of a word.
const NAME_CHARS_MAX = 40

/** The last letters of a word in lower case. `API_KEY:` and `apiKey` give the same name. */
export function nameOf(word: string): string {
  return word
    .replace(/[^a-z]+/gi, '')
    .slice(-NAME_CHARS_MAX)
    .toLowerCase()
}

export const isSecretName = (name: string): boolean => SECRET_NAME.test(name)
export const isDoubtfulName = (name: string): boolean => DOUBTFUL_NAME.test(name)
export const isKeyName = (name: string): boolean => KEY_NAME.test(name)
export const isHashName = (name: string): boolean => HASH_NAME.test(name)
export const isPhraseName = (name: string): boolean => PHRASE_NAME.test(name)
export const isUrlName = (name: string): boolean => URL_NAME.test(name)

/** Values that may follow such a name and disclose nothing. */
const HARMLESS =
  /^(?:undefined|null|true|false|none|redacted|words|bytes|expected|unexpected|required|missing|invalid|must|is|not|0x[0-9a-f]{40})[.,;]?$/i

export const isHarmless = (value: string): boolean => HARMLESS.test(value)

const RANDOM_CHARS_MIN = 16
const ODD_MIN = 4
const ADDRESS = /^0x[0-9a-f]{40}$/i

/**
 * True for a text that looks like an API key: letters, digits and dashes, with digits between the letters, or
 * capitals inside words. A key of lower case letters alone is not recognised.
 */
export function looksRandom(text: string): boolean {
  if (text.length < RANDOM_CHARS_MIN || !/^[\w-]+$/.test(text) || ADDRESS.test(text)) return false
  // A constant: `ERR_INVALID_URL`.
  if (/^[A-Z_-]+$/.test(text)) return false
  let odd = 0
  for (let at = 0; at < text.length; at++) if (isOdd(text, at)) odd++
  return odd >= ODD_MIN
}

/** A digit beside a letter, or a capital that does not begin a word. */
function isOdd(text: string, at: number): boolean {
  const [here, next] = [kindAt(text, at), kindAt(text, at + 1)]
  if (here === 'upper') return next !== 'lower' || kindAt(text, at + 2) !== 'lower'
  return (here === 'digit') !== (next === 'digit') && here !== 'other' && next !== 'other'
}

function kindAt(text: string, at: number): 'digit' | 'upper' | 'lower' | 'other' {
  const code = text.charCodeAt(at)
  if (code >= 48 && code <= 57) return 'digit'
  if (code >= 65 && code <= 90) return 'upper'
  return code >= 97 && code <= 122 ? 'lower' : 'other'
}
