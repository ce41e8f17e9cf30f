// Assertions of our own: the contract runs under every test runner, and where there is none.

export function ok(condition: boolean, what: string): asserts condition {
  if (!condition) throw new Error(`The store breaks its contract: ${what}.`)
}

/** The same in every field: bigints, Maps, and fields that are there and undefined included. */
export function equal(actual: unknown, expected: unknown, what: string): void {
  const place = differs(actual, expected, '')
  if (place === undefined) return
  const at = place === '' ? '' : ` (at ${place.replace(/^\./, '')})`
  throw new Error(
    `The store breaks its contract: ${what}${at}.\nexpected ${shown(expected)}\ngot      ${shown(actual)}`,
  )
}

/** Rejects with a `TxlaneError` of this code; compared by name, since the package may be there twice. */
export async function rejects(promise: Promise<unknown>, code: string, what: string): Promise<void> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  ok(error !== undefined, `${what}: it did not reject`)
  const said = error as { name?: unknown; code?: unknown }
  ok(said.name === 'TxlaneError', `${what}: it rejected with ${String(error)}, which is no TxlaneError`)
  equal(said.code, code, `${what}: it rejected with another code`)
}

/** Where two values differ; undefined where they are the same. */
function differs(a: unknown, b: unknown, at: string): string | undefined {
  if (Object.is(a, b)) return undefined
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return at
  if (Array.isArray(a) !== Array.isArray(b) || a instanceof Map !== b instanceof Map) return at
  const [own, other] = [fields(a), fields(b)]
  for (const key of new Set([...own.keys(), ...other.keys()])) {
    const place = `${at}.${String(key)}`
    if (own.has(key) !== other.has(key)) return place
    const found = differs(own.get(key), other.get(key), place)
    if (found !== undefined) return found
  }
  return undefined
}

function fields(value: object): ReadonlyMap<unknown, unknown> {
  return value instanceof Map ? value : new Map(Object.entries(value))
}

const SHOWN_MAX = 2_000

function shown(value: unknown): string {
  const text =
    JSON.stringify(value, (_, part: unknown) => {
      if (typeof part === 'bigint') return `${part}n`
      if (part === undefined) return '<undefined>'
      return part instanceof Map ? { map: [...part] } : part
    }) ?? 'undefined'
  return text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}…` : text
}
