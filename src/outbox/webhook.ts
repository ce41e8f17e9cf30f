import { checkNames, type Names } from '../errors/checkNames.js'
import { invalid } from '../errors/invalid.js'
import { redactUrl } from '../errors/redactUrl.js'
import { type Clock, systemClock } from '../platform/clock.js'
import { retryAfterMs, withoutCredentials } from '../rpc/transports/httpMessage.js'
import { MS_MAX, object, whole } from '../validate/validate.js'
import { DeliveryError } from './deliveryError.js'
import { createSigner, encoded, HEADERS } from './signature.js'
import type { Delivery, DeliveryHandler, DeliveryStage } from './types.js'

/** The parameters of `webhook`. */
export type WebhookOptions = {
  /**
   * The URL of the receiver, `https:` or `http:`. User and password in it become Basic authentication. Errors
   * and logs contain only its origin.
   */
  url: string
  /**
   * `whsec_` and 24 to 64 random bytes in base64, the format of Standard Webhooks. If several are given, each
   * signs: a receiver that knows one of them accepts the delivery, so that secrets can be changed without
   * downtime.
   */
  secret: string | readonly string[]
  /**
   * Additional headers of each request, for a proxy in front of the receiver. They do not replace the
   * webhook's own. @default none
   */
  headers?: Readonly<Record<string, string>> | undefined
  /**
   * Milliseconds within which the receiver has to answer. At most `timeoutMs` of the outbox. @default 15_000
   */
  timeoutMs?: number | undefined
  /**
   * Number of tries after which a refusal (a status of 4xx, or a redirect) is final and the delivery is given
   * up. A 410 is final at once; 408, 425, 429, 5xx and no answer never are. @default 10
   */
  triesMax?: number | undefined
  /** The function that sends the requests. @default the global `fetch`, looked up each time */
  fetchFn?: typeof fetch | undefined
}

/** The JSON body that a receiver gets. */
export type WebhookPayload = {
  /** The type of the event, for example `transaction.sealed`. */
  type: `transaction.${DeliveryStage}`
  /** The time of the transaction's last change, as ISO 8601. */
  timestamp: string
  /**
   * The delivery without its number of tries, so that every try has the same body unless the transaction
   * changed.
   */
  data: Omit<Delivery, 'attempt'>
}

const NAMES = {
  url: true,
  secret: true,
  headers: true,
  timeoutMs: true,
  triesMax: true,
  fetchFn: true,
} satisfies Names<WebhookOptions>

const TIMEOUT_MS = 15_000
const TRIES_MAX = 10
/** Maximum number of characters that are read and quoted of an unsuccessful answer. */
const QUOTED_CHARS_MAX = 200
const READ_BYTES_MAX = 1_024

/**
 * A handler for `createOutbox` that posts each delivery as JSON, signed by the scheme of Standard Webhooks
 * 1.0.0: the headers `webhook-id` (the `key` of the delivery), `webhook-timestamp` (seconds since the epoch)
 * and `webhook-signature` (`v1,` and the HMAC-SHA256 of `id.timestamp.body` in base64). `verifyWebhook` and
 * the Standard Webhooks libraries for other languages verify it.
 *
 * A status of 2xx accepts the delivery. After no answer, a failed connection, 408, 425, 429 and 5xx the
 * outbox retries, no sooner than `Retry-After` says. 410 gives the delivery up, and so does any other answer
 * after `triesMax` tries. Redirects are not followed, so signed bodies reach only the given host.
 *
 * Not guaranteed: that the host is safe to call. If users supply URLs, check that these do not lead to
 * addresses of your own network.
 *
 * @example
 * const { createOutbox } = await import('txlane/outbox')
 * const { memoryStore } = await import('txlane')
 * const onStage = webhook({ url: 'https://example.com/txlane', secret: process.env.WEBHOOK_SECRET ?? '' })
 * createOutbox({ store: memoryStore(), name: 'orders', onStage })
 *
 * @throws `INVALID` for an invalid option; it shows neither the secret nor the path of the URL
 */
export function webhook(options: WebhookOptions): DeliveryHandler {
  const clock: Clock = systemClock
  checkNames('options', object('options', options), NAMES)
  const { url: given, secret, timeoutMs = TIMEOUT_MS, triesMax = TRIES_MAX, fetchFn } = options
  whole('timeoutMs', timeoutMs, 1, MS_MAX)
  whole('triesMax', triesMax, 1, Number.MAX_SAFE_INTEGER)
  if (fetchFn !== undefined && typeof fetchFn !== 'function') throw invalid('fetchFn', fetchFn, 'a function')
  checkUrl(given)
  const headers = headersOf(options.headers)
  const url = withoutCredentials(given, headers)
  const place = redactUrl(url)
  const hidden = secretsOf(given, headers)
  const sign = createSigner(secret)

  async function requestOf(delivery: Delivery): Promise<RequestInit> {
    const { attempt: _, ...data } = delivery
    const { stage, tx, key } = delivery
    const payload: WebhookPayload = {
      type: `transaction.${stage}`,
      timestamp: tx.updatedAt ?? tx.createdAt,
      data,
    }
    const body = JSON.stringify(payload)
    const timestamp = String(Math.floor(clock.wallNow() / 1_000))
    const signatures = await sign(key, timestamp, new TextEncoder().encode(body))
    const own = new Headers(headers)
    own.set('content-type', 'application/json')
    own.set(HEADERS.id, key)
    own.set(HEADERS.timestamp, timestamp)
    own.set(HEADERS.signature, signatures.map((one) => `v1,${encoded(one)}`).join(' '))
    return { method: 'POST', headers: own, body, redirect: 'manual' }
  }

  async function post(delivery: Delivery, signal: AbortSignal): Promise<void> {
    const request = await requestOf(delivery)
    const send = fetchFn ?? fetch
    const response = await send(url, { ...request, signal }).catch((error: unknown) => {
      throw new DeliveryError(`${place} could not be reached: ${wordsOf(error)}.`)
    })
    const { status } = response
    if (status >= 200 && status < 300) return void discard(response)
    const said = await quoteOf(response, hidden)
    const message = `${place} answered with the HTTP status ${status}${said === '' ? '' : `: ${said}`}`
    if (isTransient(status)) {
      const retryAfter = retryAfterMs(response.headers.get('retry-after') ?? undefined, clock.wallNow())
      throw new DeliveryError(message, { retryAfterMs: retryAfter })
    }
    throw new DeliveryError(message, { isFinal: status === 410 || delivery.attempt >= triesMax })
  }

  return (delivery, { signal }) =>
    within(clock, timeoutMs, signal, (own) => post(delivery, own)).catch((error: unknown) => {
      throw error instanceof NoAnswer
        ? new DeliveryError(`${place} did not answer in ${timeoutMs} ms.`)
        : error
    })
}

class NoAnswer extends Error {}

/** Rejects after the timeout, even if the request ignores the signal. */
function within(
  clock: Clock,
  timeoutMs: number,
  outer: AbortSignal,
  ask: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const controller = new AbortController()
  return new Promise<void>((resolve, reject) => {
    const end = () => {
      reject(new NoAnswer())
      controller.abort()
    }
    const cancel = clock.setTimer(end, timeoutMs)
    outer.addEventListener('abort', end)
    ask(controller.signal)
      .then(resolve, reject)
      .finally(() => {
        cancel()
        outer.removeEventListener('abort', end)
      })
  })
}

function checkUrl(url: unknown): asserts url is string {
  const isUrl = typeof url === 'string' && /^https?:\/\//i.test(url) && URL.canParse(url)
  // A nearly valid URL may contain a password.
  if (!isUrl) throw invalid('url', typeof url === 'string' ? '<hidden>' : url, 'an http(s) URL')
}

/** @throws TxlaneError `INVALID`, without the value, which may be a token */
function headersOf(given: unknown): Headers {
  try {
    return new Headers((given ?? {}) as Record<string, string>)
  } catch {
    throw invalid(
      'headers',
      typeof given === 'object' ? {} : typeof given,
      'names and values of HTTP headers',
    )
  }
}

/** RFC 9110, section 15; RFC 6585, section 4; RFC 8470, section 5.2. */
function isTransient(status: number): boolean {
  return status === 408 || status === 425 || status === 429 || status >= 500
}

/** The system's code for the error, which is short and quotes nothing. */
function wordsOf(error: unknown): string {
  const { code, cause, name } = error as { code?: unknown; cause?: { code?: unknown }; name?: unknown }
  const found = [cause?.code, code].find((one): one is string => typeof one === 'string')
  return found ?? (typeof name === 'string' ? name : 'unknown error')
}

/** The rest is not read, so the connection is not kept for it. */
function discard({ body }: Response): void {
  body?.cancel().catch(() => {})
}

/** Shorter texts may occur in an answer by chance, and are no secrets. */
const HIDDEN_CHARS_MIN = 4

/**
 * The parts of the request that an answer may repeat and that must not be shown: the URL after its host, and
 * the headers.
 */
function secretsOf(url: string, headers: Headers): readonly string[] {
  const { username, password, pathname, searchParams } = new URL(url)
  const raw = [
    username,
    password,
    pathname,
    ...pathname.split('/'),
    ...searchParams.values(),
    ...headers.values(),
  ]
  return [...new Set(raw.flatMap((text) => [text, unescaped(text)]))]
    .filter(({ length }) => length >= HIDDEN_CHARS_MIN)
    .sort((a, b) => b.length - a.length)
}

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** The beginning of the answer. */
async function quoteOf(response: Response, hidden: readonly string[]): Promise<string> {
  const reader = response.body?.getReader()
  if (reader === undefined) return ''
  const decoder = new TextDecoder()
  let text = ''
  try {
    for (let bytes = 0; bytes < READ_BYTES_MAX; ) {
      const { done, value } = await reader.read()
      if (done) break
      bytes += value.length
      text += decoder.decode(value.subarray(0, READ_BYTES_MAX), { stream: true })
    }
  } catch {
    // The status is sufficient.
  }
  reader.cancel().catch(() => {})
  const safe = hidden.reduce((cut, secret) => cut.replaceAll(secret, '<redacted>'), text)
  return safe.replaceAll(/\s+/g, ' ').trim().slice(0, QUOTED_CHARS_MAX)
}
