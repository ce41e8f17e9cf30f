/** The content of one layer of an error. Layers are in the order of nesting, outermost first. */
export type Statement = {
  readonly texts: readonly string[]
  readonly code: number | string | undefined
  readonly data: unknown
  /** The kind of a port's failure, if this layer is one. */
  readonly kind: string | undefined
  /** The HTTP status, if this layer has one. */
  readonly status: number | undefined
  readonly retryAfterMs: number | undefined
}

// Sufficient for viem's and ethers' longest chains. A hostile object could be nested without end.
const LAYERS_MAX = 32
const JSON_CHARS_MAX = 20_000
const WORDS_CHARS_MAX = 500

// The properties in which libraries keep the wrapped error. Lists (`errors` of an AggregateError or a
// fallback) are not read, because each entry comes from another endpoint.
const NESTED = [
  'cause', // viem, Error
  'error', // ethers 5 and 6, JSON-RPC replies
  'info', // ethers 6
  'rpc', // the failure of an HTTP status
  'data', // wallets: { originalError } or { message }
  'originalError',
  'failure', // a reply of a port
  'response',
  'body', // ethers 5
  'responseBody', // ethers 6
] as const

/**
 * Splits an error of any library into its layers: viem's causes and `details`, ethers' `info.error` and JSON
 * bodies, a wallet's `data.originalError`, raw JSON-RPC objects and replies, strings. Never throws, even with
 * hostile getters and proxies, and calls no method but the `get` of a `Headers`.
 */
export function readStatements(error: unknown): Statement[] {
  const statements: Statement[] = []
  const seen = new Set<object>()
  let layer: unknown[] = [error]
  while (layer.length > 0) {
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

/** True if the texts or the data of a layer match. */
export function says(statements: readonly Statement[], words: RegExp): boolean {
  return statements.some(({ texts, data }) =>
    [...texts, data].some((text) => typeof text === 'string' && words.test(text)),
  )
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/** Reads one property; `undefined` if reading it throws. */
export function property(value: unknown, key: string): unknown {
  if (!isObject(value) && typeof value !== 'function') return undefined
  try {
    return (value as Record<string, unknown>)[key]
  } catch {
    return undefined
  }
}

function readText(text: string, next: unknown[]): Statement[] {
  next.push(parseJson(text))
  return [{ ...NOTHING, texts: [text] }]
}

const NOTHING: Omit<Statement, 'texts'> = {
  code: undefined,
  kind: undefined,
  data: undefined,
  status: undefined,
  retryAfterMs: undefined,
}

function readObject(value: object, next: unknown[]): Statement {
  const texts: string[] = []
  for (const key of textKeys(value)) {
    const text = property(value, key)
    if (typeof text !== 'string') continue
    texts.push(text)
    next.push(parseJson(text))
  }
  for (const key of NESTED) {
    const nested = property(value, key)
    // A text in `data` is revert data or a hash, and may be a string of the contract.
    if (key !== 'data' || isObject(nested)) next.push(nested)
  }
  const code = property(value, 'code')
  const kind = property(value, 'kind')
  return {
    texts,
    code: typeof code === 'number' || typeof code === 'string' ? code : undefined,
    data: property(value, 'data'),
    kind: typeof kind === 'string' ? kind : undefined,
    status: readStatus(value),
    retryAfterMs: readRetryAfter(value) ?? readRetryIn(texts),
  }
}

// The `message` of a viem error repeats its `details` among words of viem and the request. If there are
// details, they are the node's message. ethers 5 has `reason`.
function textKeys(value: object): readonly string[] {
  const details = property(value, 'details')
  return typeof details === 'string' && details !== '' ? ['details'] : ['reason', 'message']
}

// The JSON object inside a text, as wrappers print it: `HTTP error 429 with body: {"error":…}`.
function parseJson(text: string): object | undefined {
  const from = text.length > JSON_CHARS_MAX ? -1 : text.search(/\{\s*"/)
  if (from === -1) return undefined
  try {
    const parsed: unknown = JSON.parse(text.slice(from, text.lastIndexOf('}') + 1))
    return isObject(parsed) ? parsed : undefined
  } catch {
    return undefined
  }
}

// `status`: viem and the failures of a port. `statusCode`: ethers' response. `responseStatus`: ethers' info, "503 …".
function readStatus(value: object): number | undefined {
  for (const key of ['status', 'statusCode', 'responseStatus'] as const) {
    const status = property(value, key)
    const code = typeof status === 'string' && /^\d{3}\b/.test(status) ? Number(status.slice(0, 3)) : status
    if (typeof code !== 'number' || !(code >= 100 && code < 600)) continue
    return code === ESCALATED ? (readEscalated(value) ?? code) : code
  }
  return undefined
}

// After some retries ethers turns a 429 into "599 CLIENT ESCALATED SERVER ERROR (429 Too Many Requests; …)".
const ESCALATED = 599

function readEscalated(value: object): number | undefined {
  for (const key of ['statusMessage', 'responseStatus'] as const) {
    const text = property(value, key)
    const status =
      typeof text === 'string' ? /CLIENT ESCALATED SERVER ERROR \((\d{3})\b/.exec(text)?.[1] : undefined
    if (status !== undefined) return Number(status)
  }
  return undefined
}

function readRetryAfter(value: object): number | undefined {
  const given = property(value, 'retryAfterMs')
  if (typeof given === 'number' && Number.isFinite(given) && given >= 0) return given
  const header = readHeader(property(value, 'headers'), 'retry-after')
  // An empty header gives no time.
  const seconds = Number(header?.trim() || readBackoff(property(value, 'data')))
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1_000 : undefined
}

// Infura: `data.backoff_seconds`, or inside `rate` when the daily quota is used up.
function readBackoff(data: unknown): number | undefined {
  const seconds = property(data, 'backoff_seconds') ?? property(property(data, 'rate'), 'backoff_seconds')
  return typeof seconds === 'number' ? seconds : undefined
}

// Ankr: "retry in 10s", "retry in 10m0s".
const RETRY_IN = /\bretry in (?:(\d{1,4})m)?(\d{1,5})s\b/i

function readRetryIn(texts: readonly string[]): number | undefined {
  for (const text of texts) {
    const [, minutes = 0, seconds] = RETRY_IN.exec(text.slice(0, WORDS_CHARS_MAX)) ?? []
    if (seconds !== undefined) return (Number(minutes) * 60 + Number(seconds)) * 1_000
  }
  return undefined
}

function readHeader(headers: unknown, name: string): string | undefined {
  const plain = property(headers, name)
  if (typeof plain === 'string') return plain
  try {
    // Recognised by its tag, because only the `get` of a Headers object may be called, whichever fetch made
    // it.
    if (Object.prototype.toString.call(headers) !== '[object Headers]') return undefined
    return (headers as Headers).get(name) ?? undefined
  } catch {
    return undefined
  }
}
