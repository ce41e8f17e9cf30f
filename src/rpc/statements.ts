/** What one layer of an error says. The order is that of nesting: the outermost first. */
export type Statement = {
  readonly texts: readonly string[]
  readonly name: string
  readonly code: number | string | undefined
  readonly data: unknown
  /** HTTP status, where this layer is about one. */
  readonly status: number | undefined
  readonly retryAfterMs: number | undefined
}

// Wide enough for viem's and ethers' longest chains; a hostile object could go on for ever.
const LAYERS_MAX = 32
const JSON_CHARS_MAX = 20_000

// `message` of a viem error repeats `details` beside its own words and the request: where there are details, they
// are the node's word. A v5 ethers error has `reason`.
const NESTED = [
  'cause',
  'error',
  'info',
  'rpc',
  'data',
  'originalError',
  'failure',
  'response',
  'body',
  'responseBody',
] as const

/**
 * Reads an error of any library into the layers it is made of: viem's causes and `details`, ethers' `info.error`
 * and JSON bodies, a wallet's `data.originalError`, raw JSON-RPC objects and replies, strings. Never throws,
 * whatever the getters and proxies do, and never calls a method other than a `Headers`-like `get`.
 */
export function readStatements(error: unknown): Statement[] {
  const statements: Statement[] = []
  const seen = new Set<object>()
  let layer: unknown[] = [error]
  while (layer.length > 0 && statements.length < LAYERS_MAX) {
    const next: unknown[] = []
    for (const value of layer) {
      if (statements.length >= LAYERS_MAX) break
      if (typeof value === 'string') statements.push(...readText(value, next))
      else if (isObject(value) && !seen.has(value)) {
        seen.add(value)
        statements.push(readObject(value, next))
      }
    }
    layer = next
  }
  return statements
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/** One property, or `undefined` where reading it throws. */
export function property(value: unknown, key: string): unknown {
  if (!isObject(value) && typeof value !== 'function') return undefined
  try {
    return (value as Record<string, unknown>)[key]
  } catch {
    return undefined
  }
}

function readText(text: string, next: unknown[]): Statement[] {
  const parsed = parseJson(text)
  if (parsed === undefined) return [{ ...NOTHING, texts: [text] }]
  next.push(parsed)
  return []
}

const NOTHING: Omit<Statement, 'texts'> = {
  name: '',
  code: undefined,
  data: undefined,
  status: undefined,
  retryAfterMs: undefined,
}

function readObject(value: object, next: unknown[]): Statement {
  const texts: string[] = []
  for (const key of textKeys(value)) {
    const text = property(value, key)
    if (typeof text !== 'string') continue
    const parsed = parseJson(text)
    if (parsed === undefined) texts.push(text)
    else next.push(parsed)
  }
  for (const key of NESTED) {
    const nested = property(value, key)
    if (isObject(nested)) next.push(nested)
    else if (typeof nested === 'string' && key !== 'data') next.push(nested)
  }
  const name = property(value, 'name')
  const code = property(value, 'code')
  return {
    texts,
    name: typeof name === 'string' ? name : '',
    code: typeof code === 'number' || typeof code === 'string' ? code : undefined,
    data: property(value, 'data'),
    status: readStatus(value),
    retryAfterMs: readRetryAfter(value),
  }
}

function textKeys(value: object): readonly string[] {
  const details = property(value, 'details')
  return typeof details === 'string' && details !== '' ? ['details'] : ['reason', 'message']
}

/** The object or array in a JSON text, else `undefined`. */
function parseJson(text: string): object | undefined {
  if (text.length > JSON_CHARS_MAX || !/^\s*[[{]/.test(text)) return undefined
  try {
    const parsed: unknown = JSON.parse(text)
    return isObject(parsed) ? parsed : undefined
  } catch {
    return undefined
  }
}

function readStatus(value: object): number | undefined {
  for (const key of ['status', 'statusCode'] as const) {
    const status = property(value, key)
    if (typeof status === 'number' && status >= 100 && status < 600) return status
  }
  return undefined
}

function readRetryAfter(value: object): number | undefined {
  const given = property(value, 'retryAfterMs')
  if (typeof given === 'number' && Number.isFinite(given) && given >= 0) return given
  const seconds = Number(readHeader(property(value, 'headers'), 'retry-after') ?? Number.NaN)
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1_000 : undefined
}

function readHeader(headers: unknown, name: string): string | undefined {
  const plain = property(headers, name)
  if (typeof plain === 'string') return plain
  const get = property(headers, 'get')
  if (typeof get !== 'function') return undefined
  try {
    const text: unknown = get.call(headers, name)
    return typeof text === 'string' ? text : undefined
  } catch {
    return undefined
  }
}
