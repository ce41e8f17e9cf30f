import { redactForeign, redactText, redactUrl } from '../../errors/redact.js'
import type { Clock } from '../../platform/clock.js'
import { decodeAnswers, encodeCalls, errorObject } from '../envelope.js'
import type { BatchOptions, Port, RpcCall, RpcFailure, RpcReply } from '../port.js'
import { OversizedAnswer, RESPONSE_BYTES_MAX, responseText } from './boundedText.js'
import { takeCallIds } from './callIds.js'
import { withoutCredentials } from './credentials.js'
import { dispatch, fetchDispatcher, type Route, routeOf } from './dispatch.js'
import type { Posted } from './httpResponse.js'
import { createGiveUps, type GiveUp } from './requestTimeout.js'
import { retryAfterMs } from './retryAfter.js'

export type HttpPortOptions = {
  /** Where to post. User and password in it become a Basic `Authorization` header, as viem does. */
  readonly url: string
  /** Handed to `fetch` with each request: headers, credentials, and so on. */
  readonly fetchOptions?: Omit<RequestInit, 'body'> | undefined
  /**
   * @default the global `fetch`, looked up at each request. Where that is still Node's own, what it sends by is asked
   * directly from its second request on: the same connections, without the cost of the streams above them.
   */
  readonly fetchFn?: typeof fetch | undefined
  /** Milliseconds until calls without an answer get a `timeout` failure; 0 for none. @default 10,000 */
  readonly timeoutMs?: number | undefined
  /**
   * Bytes of one answer, unpacked. What is larger is cut, and `malformed` for each of its calls. Not guaranteed with a
   * `fetchFn` whose responses have no web stream as their body: those are read whole first. @default 64 MiB
   */
  readonly responseBytesMax?: number | undefined
  readonly clock: Clock
}

const TIMEOUT_MS = 10_000

/**
 * A port that posts each batch as one request, by `fetch` or what that sends by: an array for several calls, an object
 * for one. It never repeats a request and never follows a redirect, which would post the same bytes to another place.
 *
 * Where it is `fetch` that posts, one repetition is out of its hands: on HTTP 421 (misdirected: this server did not look
 * at it) it posts once more to the same URL (Fetch standard, HTTP-network-or-cache fetch).
 */
export function createHttpPort(options: HttpPortOptions): Port {
  const { clock, responseBytesMax: bytesMax = RESPONSE_BYTES_MAX } = options
  const target = targetOf(options)
  const stats = { requests: 0, calls: 0 }
  const giveUps = createGiveUps(clock)

  function post(body: string, giveUp: GiveUp): Promise<Posted> {
    const dispatcher = target.route && fetchDispatcher()
    if (target.route && dispatcher)
      return dispatch(dispatcher, target.route, body, { givenUp: giveUp.ended, bytesMax })
    return postByFetch(options.fetchFn ?? fetch, target, { body, signal: giveUp.signal }, bytesMax)
  }

  async function batch(
    calls: readonly RpcCall[],
    batchOptions: BatchOptions = {},
  ): Promise<readonly RpcReply[]> {
    if (calls.length === 0) return []
    const all = (failure: RpcFailure) => new Array<RpcReply>(calls.length).fill({ ok: false, failure })
    const timeoutMs = batchOptions.timeoutMs ?? options.timeoutMs ?? TIMEOUT_MS
    const giveUp = giveUps.begin([batchOptions.signal, options.fetchOptions?.signal])
    if (giveUp.reason() === 'aborted')
      return all({ kind: 'aborted', message: 'given up before it was posted' })
    try {
      const firstId = takeCallIds(calls.length)
      const body = encodeCalls(calls, firstId)
      stats.requests++
      stats.calls += calls.length
      const posting = post(body, giveUp)
      // Once it is on its way.
      giveUp.after(timeoutMs)
      const posted = await Promise.race([posting, giveUp.ended])
      return decodePosted(posted, firstId, calls.length, clock.wallNow())
    } catch (error) {
      return all(thrownFailure(error, giveUp.reason(), timeoutMs))
    } finally {
      giveUp.done()
    }
  }

  return { name: target.name, kind: 'http', batch, stats, close: giveUps.close }
}

/** What of `fetchOptions` means the same to a dispatcher. */
const DISPATCHED: readonly string[] = ['headers', 'method', 'signal']

type Target = {
  readonly name: string
  readonly url: string
  readonly init: RequestInit
  /** Where it need not be `fetch` that posts. */
  readonly route: Route | undefined
}

function targetOf({ url, fetchOptions, fetchFn }: HttpPortOptions): Target {
  const headers = new Headers(fetchOptions?.headers)
  if (!headers.has('content-type')) headers.set('content-type', 'application/json')
  const init: RequestInit = {
    redirect: 'manual',
    ...fetchOptions,
    method: fetchOptions?.method ?? 'POST',
    headers,
  }
  const plainUrl = withoutCredentials(url, headers)
  const needsFetch =
    fetchFn !== undefined || Object.keys(fetchOptions ?? {}).some((name) => !DISPATCHED.includes(name))
  const route = needsFetch ? undefined : routeOf(plainUrl, String(init.method), headers)
  return { name: redactUrl(url), url: plainUrl, init, route }
}

async function postByFetch(
  fetchFn: typeof fetch,
  { url, init }: Target,
  request: { body: string; signal: AbortSignal },
  bytesMax: number,
): Promise<Posted> {
  const response = await fetchFn(url, { ...init, ...request })
  const text = await responseText(response, bytesMax)
  return { status: response.status, text, retryAfter: response.headers.get('retry-after') ?? undefined }
}

function decodePosted(
  { status, text, retryAfter }: Posted,
  firstId: number,
  count: number,
  nowMs: number,
): readonly RpcReply[] {
  const body = parse(text)
  if (status >= 200 && status < 300) {
    if (body !== undefined) return decodeAnswers(body, firstId, count)
    const what = text.trim() === '' ? 'an empty body' : `a body that is not JSON${titleOf(text)}`
    return new Array<RpcReply>(count).fill({ ok: false, failure: { kind: 'malformed', message: what } })
  }
  const retry = retryAfterMs(retryAfter, nowMs)
  const http = (rpc: HttpFailure['rpc']): RpcReply => ({
    ok: false,
    failure: {
      kind: 'http',
      status,
      message: statusText(status, rpc?.message ?? (body === undefined ? '' : undefined)),
      ...(retry === undefined ? {} : { retryAfterMs: retry }),
      ...(rpc === undefined ? {} : { rpc }),
    },
  })
  // Some servers send proper answers with an error status: each call keeps what is its own, under that status.
  if (Array.isArray(body)) {
    return decodeAnswers(body, firstId, count).map((reply) =>
      reply.ok ? reply : http(reply.failure.kind === 'rpc' ? withoutKind(reply.failure) : undefined),
    )
  }
  return new Array<RpcReply>(count).fill(http(errorObject(body)))
}

/** Where a page begins: a title is found there, or nowhere. */
const PAGE_START_MAX = 4_000

/** A gateway says in the title of its page what is wrong. */
function titleOf(text: string): string {
  const title = /<title[^<>]{0,100}>([^<]{1,200})/i.exec(text.slice(0, PAGE_START_MAX))?.[1]?.trim()
  return title ? `: a page titled "${redactText(title)}"` : ''
}

type HttpFailure = Extract<RpcFailure, { kind: 'http' }>

function withoutKind({ kind: _, ...rpc }: Extract<RpcFailure, { kind: 'rpc' }>) {
  return rpc
}

function statusText(status: number, said: string | undefined): string {
  // Where it is not followed, browsers and workers show a redirect as status 0 (Fetch standard, opaque-redirect).
  if (status === 0 || (status >= 300 && status < 400)) {
    return 'the server redirects: give the URL that it redirects to'
  }
  return said ? `HTTP ${status}: ${said}` : `HTTP ${status}`
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function thrownFailure(
  error: unknown,
  reason: 'aborted' | 'timeout' | undefined,
  timeoutMs: number,
): RpcFailure {
  if (error instanceof OversizedAnswer) return { kind: 'malformed', message: error.message, cut: true }
  if (reason === 'timeout') return { kind: 'timeout', message: `no answer within ${timeoutMs} ms` }
  // The request may have been written: giving up on the answer does not take the bytes back.
  if (reason === 'aborted') return { kind: 'network', message: 'given up while waiting for the answer' }
  return { kind: 'network', message: describe(error) }
}

/** `fetch` says "fetch failed" and keeps the reason in the cause. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return 'the request failed'
  const { cause } = error
  const reason = cause instanceof Error ? ((cause as { code?: unknown }).code ?? cause.message) : undefined
  return redactForeign(reason === undefined ? error.message : `${error.message}: ${String(reason)}`)
}
