/** The response to a request. */
export type HttpResponse = {
  /** The HTTP status; 0 for a redirect of which nothing else is known. */
  readonly status: number
  readonly text: string
  /** The header `Retry-After`. */
  readonly retryAfter: string | undefined
}

/**
 * The `Retry-After` header in milliseconds: seconds, or a date (RFC 9110, section 10.2.3). Invalid values are
 * ignored.
 */
export function retryAfterMs(header: string | undefined, nowMs: number): number | undefined {
  const text = header?.trim()
  if (!text) return undefined
  // Some servers send fractions.
  if (/^\d+(?:\.\d+)?$/.test(text)) return Math.ceil(Number(text) * 1000)
  const atMs = Date.parse(text)
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs)
}

/**
 * Moves user and password of a URL into a Basic `Authorization` header, unless there is one. `fetch` refuses
 * a URL that contains them.
 */
export function withoutCredentials(url: string, headers: Headers): string {
  if (!URL.canParse(url)) return url
  const parsed = new URL(url)
  if (parsed.username === '' && parsed.password === '') return url
  const credentials = `${decodeURIComponent(parsed.username)}:${decodeURIComponent(parsed.password)}`
  if (!headers.has('authorization')) headers.set('authorization', `Basic ${btoa(credentials)}`)
  parsed.username = ''
  parsed.password = ''
  return parsed.toString()
}
