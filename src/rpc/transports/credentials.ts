/** `fetch` refuses a URL with user and password: they become a Basic `Authorization` header, unless there is one. */
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
