import { TxlaneError } from '../errors/base.js'
import { redactForeign } from '../errors/redact.js'
import { retryAfterMs } from '../rpc/transports/httpMessage.js'
import type { KmsEnvironment, ServiceSettings } from './options.js'

/** A key service, which may throttle, fail temporarily or not answer. */
export type Service = {
  /** The name of the service in errors. */
  readonly name: string
  /**
   * Makes a request, and retries it after a pause while the service throttles, fails or does not answer.
   *
   * @param what the requested action, for errors: `sign for 0x…`
   * @throws TxlaneError `SIGNER`, which quotes the service: at once for a refusal, otherwise after the
   *   timeout
   */
  call<T>(what: string, ask: (signal: AbortSignal) => Promise<T>): Promise<T>
}

/**
 * The first pause between tries. It doubles with each try, and a random part of up to half is subtracted, so
 * that retries do not coincide.
 */
const PAUSE_MS = 100
const PAUSE_MS_MAX = 5_000

export function createService(
  name: string,
  settings: ServiceSettings,
  { clock, random }: KmsEnvironment,
): Service {
  const { timeoutMs, requestTimeoutMs, logger } = settings

  function pauseMs(asked: number, error: unknown): number {
    const fullMs = Math.min(PAUSE_MS_MAX, PAUSE_MS * 2 ** (asked - 1))
    const askedForMs = retryAfterMs(retryAfterOf(error), clock.wallNow()) ?? 0
    return Math.max(askedForMs, fullMs * (1 - random() / 2))
  }

  /** Rejects after the timeout, even if the request ignores the signal. */
  function within<T>(ms: number, ask: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const controller = new AbortController()
    return new Promise<T>((resolve, reject) => {
      const cancel = clock.setTimer(() => {
        reject(new NoAnswer(ms))
        controller.abort()
      }, ms)
      const asking = (async () => ask(controller.signal))()
      asking.then(resolve, reject).finally(cancel)
    })
  }

  async function call<T>(what: string, ask: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const endMs = clock.now() + timeoutMs
    for (let asked = 1; ; asked++) {
      try {
        return await within(Math.min(requestTimeoutMs, endMs - clock.now()), ask)
      } catch (error) {
        if (error instanceof TxlaneError) throw error
        const said = wordsOf(error)
        if (!isTransient(error)) throw signerError(`${name} refused to ${what}.`, said, error)
        const restMs = pauseMs(asked, error)
        if (clock.now() + restMs >= endMs)
          throw signerError(`${name} did not ${what} in ${timeoutMs} ms (${asked} tries).`, said, error)
        const fields = {
          service: name,
          asked,
          restMs: Math.round(restMs),
          said,
        }
        logger?.warn?.(fields, `${name} did not ${what}, and is asked again`)
        await new Promise<void>((resolve) => void clock.setTimer(resolve, restMs))
      }
    }
  }

  return { name, call }
}

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

/** Maximum number of quoted characters of a service's message. */
const QUOTE_MAX = 500
/**
 * Maximum number of characters that are redacted: more than are quoted, so that a secret is not missed
 * because it is cut.
 */
const READ_MAX = 2_000

/**
 * The error of a key service that did not or cannot sign. The transaction was not sent. The details are the
 * service's own message.
 */
export function signerError(message: string, details: string, cause?: unknown): TxlaneError {
  return new TxlaneError(message, { code: 'SIGNER', fate: 'notExecuted', details, cause })
}

/**
 * An error of a service, its SDK or the network as text: its name, its code and its message on one line,
 * truncated, without secrets.
 */
function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return cut(String(error))
  const { code, errors } = error as { code?: unknown; errors?: readonly unknown[] }
  // A connection that failed for every address of a host is an AggregateError without a message.
  const inner = error.message === '' && errors?.[0] instanceof Error ? errors[0].message : error.message
  const names = [error.name === 'Error' ? '' : error.name, typeof code === 'string' ? code : '']
  const missing = names.filter((name, index) => !inner.includes(name) && names.indexOf(name) === index)
  // `fetch` gives the reason of its failure only in the cause.
  const why = error.cause instanceof Error && error.cause !== error ? ` (${error.cause.message})` : ''
  return cut(`${missing.length === 0 ? '' : `${missing.join(' ')}: `}${inner}${why}`)
}

function cut(text: string): string {
  const line = redactForeign(text.slice(0, READ_MAX), 'never').replace(/\s+/g, ' ').trim()
  return line.length > QUOTE_MAX ? `${line.slice(0, QUOTE_MAX)}…` : line
}
