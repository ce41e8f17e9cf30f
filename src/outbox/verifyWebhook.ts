import { checkNames, type Names } from '../errors/checkNames.js'
import { invalid } from '../errors/invalid.js'
import { systemClock } from '../platform/clock.js'
import { object, whole } from '../validate/validate.js'
import { createSigner, decoded, HEADERS, isEqual } from './signature.js'
import type { WebhookPayload } from './webhook.js'

/** The parameters of `verifyWebhook`. */
export type VerifyWebhookOptions = {
  /** The raw body, before parsing. A parsed and re-serialised body may differ. */
  body: string | Uint8Array
  /** The headers of the request, in the form of `fetch` or Node. */
  headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>
  /** The sender's secret. If several are given, one of them has to match. */
  secret: string | readonly string[]
  /**
   * Maximum difference between the timestamp and the local time, in both directions, in milliseconds.
   * @default 300_000
   */
  toleranceMs?: number | undefined
  /** The local time in milliseconds since the epoch. @default the machine's */
  nowMs?: number | undefined
}

/** The reason why a request was rejected. */
export type WebhookErrorReason =
  /** A header is missing. */
  | 'missing'
  /** A header or the body is malformed. */
  | 'malformed'
  /** The request is too old, or from the future. It may be a replay. */
  | 'timestamp'
  /** No signature matches: the secret or the body differs, or the request is from another sender. */
  | 'signature'

/** The error for a request that must not be trusted. Answer it with 400 or 401. */
export class WebhookError extends Error {
  /** The name identifies the errors of every copy of the package. */
  override name = 'WebhookError'
  /** The reason for the rejection. */
  readonly reason: WebhookErrorReason

  constructor(reason: WebhookErrorReason, message: string) {
    super(message)
    this.reason = reason
  }
}

const NAMES = {
  body: true,
  headers: true,
  secret: true,
  toleranceMs: true,
  nowMs: true,
} satisfies Names<VerifyWebhookOptions>

const TOLERANCE_MS = 300_000
const SIGNATURES_MAX = 32

/**
 * Verifies that a request comes from a `webhook` with the same secret, by the scheme of Standard Webhooks
 * 1.0.0. Signatures are compared in constant time.
 *
 * Not guaranteed: that the request comes for the first time. Within `toleranceMs` a replayed request is
 * accepted again, and the outbox itself may send one twice: store `data.key` (the header `webhook-id`) of
 * processed requests.
 *
 * @example
 * const { createServer } = await import('node:http')
 * createServer(async (request, response) => {
 *   const chunks: Uint8Array[] = []
 *   for await (const chunk of request) chunks.push(chunk)
 *   const { headers } = request
 *   const secret = process.env.WEBHOOK_SECRET ?? ''
 *   await verifyWebhook({ body: Buffer.concat(chunks), headers, secret }).then(
 *     ({ data }) => response.writeHead(204, { 'x-key': data.key }).end(),
 *     () => response.writeHead(401).end(),
 *   )
 * })
 *
 * @returns the delivered payload
 * @throws `WebhookError` for a request that must not be trusted, and `INVALID` for an invalid argument
 */
export async function verifyWebhook(options: VerifyWebhookOptions): Promise<WebhookPayload> {
  checkNames('options', object('options', options), NAMES)
  const { body, headers, secret, toleranceMs = TOLERANCE_MS, nowMs = systemClock.wallNow() } = options
  whole('toleranceMs', toleranceMs, 1, Number.MAX_SAFE_INTEGER)
  if (typeof nowMs !== 'number' || !Number.isFinite(nowMs))
    throw invalid('nowMs', nowMs, 'milliseconds since the epoch')
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body
  if (!(bytes instanceof Uint8Array)) throw invalid('body', body, 'the text or the bytes of the body')
  const sign = createSigner(secret)
  const header = headerOf(headers)
  const [id, timestamp, signature] = [
    header(HEADERS.id),
    header(HEADERS.timestamp),
    header(HEADERS.signature),
  ]

  const given = signature
    .split(' ', SIGNATURES_MAX)
    .filter((one) => one.startsWith('v1,'))
    .flatMap((one) => decoded(one.slice('v1,'.length)) ?? [])
  const expected = await sign(id, timestamp, bytes)
  // All pairs are compared, so that the time does not depend on the match.
  const fits = expected.flatMap((one) => given.map((other) => isEqual(other, one))).filter(Boolean)
  if (fits.length === 0) throw new WebhookError('signature', 'No signature of the webhook matches.')
  if (!/^\d{1,12}$/.test(timestamp))
    throw new WebhookError('malformed', 'The timestamp is not a number of seconds.')
  if (Math.abs(nowMs - Number(timestamp) * 1_000) > toleranceMs)
    throw new WebhookError('timestamp', 'The webhook was signed too long ago, or its clock is ahead.')
  return payloadIn(bytes)
}

function headerOf(headers: unknown): (name: string) => string {
  const fields = object('headers', headers)
  const byName = new Map<string, unknown>()
  if (typeof fields.get !== 'function')
    for (const [name, value] of Object.entries(fields)) byName.set(name.toLowerCase(), value)
  return (name) => {
    const value: unknown =
      typeof fields.get === 'function' ? (headers as Headers).get(name) : byName.get(name)
    const text: unknown = Array.isArray(value) ? value.join(' ') : value
    if (typeof text !== 'string' || text === '')
      throw new WebhookError('missing', `The header ${name} is missing.`)
    return text
  }
}

function payloadIn(bytes: Uint8Array): WebhookPayload {
  try {
    return JSON.parse(new TextDecoder().decode(bytes)) as WebhookPayload
  } catch {
    throw new WebhookError('malformed', 'The body is not JSON.')
  }
}
