const URL_HIDDEN = '<url>'
// Real schemes are short: `mongodb+srv`. A longer one is part of other text.
const SCHEME = /^[a-z][a-z0-9+.-]{0,15}:$/
const LABEL = /^[a-z0-9-]+$/i

/**
 * Reduces a URL to its origin, without user, password, path, query and fragment, because each of these may
 * contain API keys. For a URL without a scheme (`host.example/v2/KEY`) the host and port are kept; an
 * unparsable URL is hidden completely.
 */
export function redactUrl(url: string): string {
  const parsed = parse(url)
  if (parsed === undefined || parsed.host === '') return hostOf(url) ?? URL_HIDDEN
  const { protocol, host, username, password } = parsed
  if (!SCHEME.test(protocol)) return URL_HIDDEN
  // A `/`, `?` or `#` in a password ends the host too early, so that the start of the password looks like a
  // port.
  if (username === '' && password === '' && url.includes('@')) return URL_HIDDEN
  return `${protocol}//${host}`
}

/** Host and port of a URL without a scheme; undefined if the text does not begin with a host. */
export function hostOf(text: string): string | undefined {
  const end = text.search(/[/?#]/)
  const authority = end === -1 ? text : text.slice(0, end)
  return isHost(authority) ? authority : undefined
}

function isHost(authority: string): boolean {
  const [name = '', port, ...rest] = authority.split(':')
  if (rest.length > 0 || (port !== undefined && !/^\d{1,5}$/.test(port))) return false
  const labels = name.split('.')
  if (!labels.every((label) => LABEL.test(label))) return false
  if (name === 'localhost' || port !== undefined) return true
  const isAddress = labels.length === 4 && labels.every((label) => /^\d{1,3}$/.test(label))
  return isAddress || (labels.length > 1 && /^[a-z]{2,}$/i.test(labels.at(-1) ?? ''))
}

function parse(url: string): URL | undefined {
  try {
    return new URL(url)
  } catch {
    return undefined
  }
}
