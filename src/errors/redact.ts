// A scheme, its separator and everything up to white space, a quote or a bracket: what a URL may look like
// inside a sentence.
const URL_PATTERN = /\b(?:https?|wss?|postgres(?:ql)?):\/\/[^\s"'`<>()[\]{}\\]+/gi
// 32 bytes or more of hex after a word that says what it is.
const SECRET_PATTERN =
  /\b(private[ _-]?key|secret|mnemonic|password|token|api[ _-]?key)(["']?\s*[:=]\s*["']?)[^\s"',}]+/gi

// viem prints the body of a failed request: signed bytes do not belong into a log.
const RAW_PATTERN = /(eth_sendRawTransaction\w*\\?"\s*,\s*\\?"params\\?"\s*:\s*\[\s*\\?")0x[0-9a-f]+/gi

/** Cuts a URL to its origin, without user, password, path, query and fragment: each of them carries API keys. */
export function redactUrl(url: string): string {
  try {
    const { protocol, host } = new URL(url)
    return `${protocol}//${host}`
  } catch {
    return '<url>'
  }
}

/** Cuts every URL in a text to its origin; blanks signed bytes, and what follows a word that announces a secret. */
export function redactText(text: string): string {
  return text
    .replace(URL_PATTERN, (url) => redactUrl(url))
    .replace(SECRET_PATTERN, '$1$2<redacted>')
    .replace(RAW_PATTERN, '$1<signed bytes>')
}
