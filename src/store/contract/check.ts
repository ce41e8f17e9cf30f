// Our own assertions, so that the contract runs with any test runner, or without one.

export function ok(condition: boolean, what: string): asserts condition {
  if (!condition) throw new Error(`The store breaks its contract: ${what}.`)
}

/**
 * Checks that two values are equal in every field, including bigints, Maps, and fields that exist with the
 * value undefined.
 */
export function equal(actual: unknown, expected: unknown, what: string): void {
  const place = differs(actual, expected, '')
  if (place === undefined) return
  const at = place === '' ? '' : ` (at ${place.replace(/^\./, '')})`
  throw new Error(
    `The store breaks its contract: ${what}${at}.\nexpected ${shown(expected)}\ngot      ${shown(actual)}`,
  )
}

/**
 * Checks that a promise rejects with a `TxlaneError` of this code. The class is compared by name, because the
 * package may be installed twice.
 */
export async function rejects(promise: Promise<unknown>, code: string, what: string): Promise<void> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  ok(error !== undefined, `${what}: it did not reject`)
  const said = error as { name?: unknown; code?: unknown }
  ok(said.name === 'TxlaneError', `${what}: it rejected with ${String(error)}, which is not a TxlaneError`)
  equal(said.code, code, `${what}: it rejected with another code`)
}

/** The path at which two values differ; undefined if they are equal. */
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
