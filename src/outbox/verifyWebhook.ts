import { checkNames, type Names } from '../errors/checkNames.js'
import { invalid } from '../errors/invalid.js'
import { systemClock } from '../platform/clock.js'
import { object, whole } from '../validate/validate.js'
import { createSigner, decoded, HEADERS, isEqual } from './signature.js'
import type { WebhookPayload } from './webhook.js'

/** What `verifyWebhook` takes. */
export type VerifyWebhookOptions = {
  /** The body as it came, before anything parsed it: a body that was parsed and written anew is another one. */
  body: string | Uint8Array
  /** The headers of the request: those of `fetch`, or Node's. */
  headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>
  /** As the sender has it; with several, one of them has to fit. */
  secret: string | readonly string[]
  /** How far the timestamp may be from the time here, in both directions, in milliseconds. @default 300_000 */
  toleranceMs?: number | undefined
  /** The time to compare with, in milliseconds since the epoch. @default the machine's */
  nowMs?: number | undefined
}

/** Why a request is not to be believed. */
export type WebhookErrorReason =
  /** A header is missing. */
  | 'missing'
  /** A header or the body is not what it should be. */
  | 'malformed'
  /** The request is too old, or from the future: it may be a recorded one. */
  | 'timestamp'
  /** No signature fits: another secret, another body, or somebody else. */
  | 'signature'

/** A request that is not to be believed. Answer it with 400 or 401. */
export class WebhookError extends Error {
  /** Recognises the errors of every copy of the package. */
  override name = 'WebhookError'
  /** What is wrong. */
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
 * Whether a request comes from a `webhook` with the same secret, as the scheme of Standard Webhooks 1.0.0 says. Signatures
 * are compared in a time that does not depend on where they differ.
 *
 * Not guaranteed: that it is the first time. Within `toleranceMs` a recorded request is accepted again, and the outbox itself
 * may send one twice: keep `data.key` (the header `webhook-id`) of what was done.
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
 * @returns what was delivered
 * @throws `WebhookError` for a request that is not to be believed, and `INVALID` for an argument that cannot be
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
  // All are compared, whichever fits.
  const fits = expected.flatMap((one) => given.map((other) => isEqual(other, one))).filter(Boolean)
  if (fits.length === 0) throw new WebhookError('signature', 'No signature of the webhook fits.')
  if (!/^\d{1,12}$/.test(timestamp))
    throw new WebhookError('malformed', 'The timestamp is no number of seconds.')
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
    throw new WebhookError('malformed', 'The body is no JSON.')
  }
}
