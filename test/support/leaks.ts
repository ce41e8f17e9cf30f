/** The place in a value that holds a secret, and the text there. */
export type Leak = { readonly at: string; readonly what: string }

// The part of a URL after the host, and user and password before it: both carry API keys.
const URL_BEYOND_ORIGIN =
  /\b(?:https?|wss?|postgres(?:ql)?):\/\/(?:[^\s"'`<>()[\]{}\\/@]*@|[^\s"'`<>()[\]{}\\/?#]+[/?#][^\s"'`<>()[\]{}\\])[^\s"'`<>()[\]{}\\]*/gi

// viem ends its messages with a link to its documentation.
const HARMLESS = /^https:\/\/viem\.sh\/docs\/[\w/.#-]*$/

const DEPTH_MAX = 20

/**
 * Walks every value that can be reached from `value`: own properties, enumerable or not, of errors, objects,
 * arrays, maps and sets, including causes and stacks. Reports every text that holds a URL beyond its origin
 * or a given secret.
 */
export function leaksOf(value: unknown, secrets: readonly string[] = []): readonly Leak[] {
  const found: Leak[] = []
  const seen = new Set<unknown>()

  function text(at: string, content: string): void {
    for (const [url] of content.matchAll(URL_BEYOND_ORIGIN))
      if (!HARMLESS.test(url)) found.push({ at, what: url })
    const lower = content.toLowerCase()
    for (const secret of secrets) if (lower.includes(secret.toLowerCase())) found.push({ at, what: secret })
  }

  function look(at: string, item: unknown, depth: number): void {
    if (typeof item === 'string') return text(at, item)
    if (typeof item === 'bigint') return text(at, String(item))
    if (typeof item !== 'object' || item === null || seen.has(item) || depth > DEPTH_MAX) return
    seen.add(item)
    if (item instanceof URL) return text(at, item.href)
    if (item instanceof Map || item instanceof Set) return look(`${at}.entries`, [...item], depth + 1)
    if (ArrayBuffer.isView(item)) return
    for (const key of Reflect.ownKeys(item)) {
      if (typeof key === 'string') text(`${at}, a key`, key)
      look(`${at}.${String(key)}`, (item as Record<PropertyKey, unknown>)[key], depth + 1)
    }
  }

  look('error', value, 0)
  // The texts that a logger prints: `toString`, and the properties that JSON takes.
  if (value instanceof Error) text('error.toString()', String(value))
  return found
}
