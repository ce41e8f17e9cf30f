/** The `Retry-After` header in milliseconds: seconds, or a date (RFC 9110, section 10.2.3). Rubbish is ignored. */
export function retryAfterMs(header: string | undefined, nowMs: number): number | undefined {
  const text = header?.trim()
  if (!text) return undefined
  // Servers in the wild send fractions too.
  if (/^\d+(?:\.\d+)?$/.test(text)) return Math.ceil(Number(text) * 1000)
  const atMs = Date.parse(text)
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs)
}
