/** A request that timed out. */
export class NoAnswer extends Error {
  override name = 'NoAnswer'
  constructor(timeoutMs: number) {
    super(`no answer in ${timeoutMs} ms`)
  }
}

/** An HTTP answer without a success status. */
export class HttpFailure extends Error {
  override name = 'HttpFailure'
  readonly status: number
  /** The header `Retry-After`. */
  readonly retryAfter: string | undefined
  constructor(status: number, said: string, retryAfter: string | undefined) {
    super(`HTTP ${status}${said === '' ? '' : `: ${said}`}`)
    this.status = status
    this.retryAfter = retryAfter
  }
}

/** The fields in which the SDKs describe an error. */
type Thrown = {
  readonly name?: unknown
  readonly code?: unknown
  readonly status?: unknown
  readonly statusCode?: unknown
  readonly $metadata?: { readonly httpStatusCode?: unknown } | undefined
  readonly $retryable?: unknown
  readonly retryAfter?: unknown
  readonly response?: { readonly headers?: unknown } | undefined
  readonly $response?: { readonly headers?: unknown } | undefined
  readonly cause?: unknown
}

// AWS throttles with the status 400 and a name in the error (AWS KMS API reference, Sign, "Errors" and
// "Common errors"; KeyUnavailableException: "You can retry the request"). LimitExceededException is a quota.
const AWS_NAMES: ReadonlySet<unknown> = new Set([
  'DependencyTimeoutException',
  'KMSInternalException',
  'KeyUnavailableException',
  'LimitExceededException',
  'RequestLimitExceeded',
  'RequestTimeout',
  'RequestTimeoutException',
  'Throttling',
  'ThrottlingException',
  'TimeoutError',
  'TooManyRequestsException',
])

// google/rpc/code.proto: DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED, ABORTED, INTERNAL, UNAVAILABLE.
const GRPC_CODES: ReadonlySet<unknown> = new Set([4, 8, 10, 13, 14])

// Codes for a failed connection: Node's, undici's, and the common one of Azure's pipeline.
const NETWORK_CODES: ReadonlySet<unknown> = new Set([
  'EAI_AGAIN',
  'ECONNABORTED',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
  'REQUEST_SEND_ERROR',
  'UND_ERR_BODY_TIMEOUT',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_SOCKET',
])

const CAUSES_MAX = 5

/**
 * True if the same request may succeed later: the service throttles, is unavailable or did not answer. A
 * signature is never used twice, so repeating a request is safe, whatever its first result was. All other
 * errors (a key of the wrong kind, a missing permission) are permanent.
 */
export function isTransient(error: unknown, depth = 0): boolean {
  if (typeof error !== 'object' || error === null || depth > CAUSES_MAX) return false
  if (error instanceof NoAnswer) return true
  const thrown = error as Thrown
  const status = statusOf(thrown)
  if (status !== undefined && isTransientStatus(status)) return true
  if (AWS_NAMES.has(thrown.name) || AWS_NAMES.has(thrown.code) || thrown.$retryable !== undefined) return true
  if (GRPC_CODES.has(thrown.code) || NETWORK_CODES.has(thrown.code)) return true
  return isTransient(thrown.cause, depth + 1)
}

function statusOf({ status, statusCode, $metadata }: Thrown): number | undefined {
  return [status, statusCode, $metadata?.httpStatusCode].find((one): one is number => typeof one === 'number')
}

/** RFC 9110, section 15, and RFC 6585, section 4. 501 means a method that the service does not have. */
function isTransientStatus(status: number): boolean {
  return status === 408 || status === 429 || (status >= 500 && status !== 501)
}

/** The header `Retry-After` of the answer behind an error. */
export function retryAfterOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null) return undefined
  const { retryAfter, response, $response } = error as Thrown
  if (typeof retryAfter === 'string') return retryAfter
  const headers = response?.headers ?? $response?.headers
  if (typeof headers !== 'object' || headers === null) return undefined
  const { get } = headers as { get?: unknown }
  const value: unknown =
    typeof get === 'function'
      ? (headers as Headers).get('retry-after')
      : (headers as Record<string, unknown>)['retry-after']
  return typeof value === 'string' ? value : undefined
}
