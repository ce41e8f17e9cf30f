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
