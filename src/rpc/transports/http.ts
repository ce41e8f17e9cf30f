import { redactForeign, redactText } from '../../errors/redact.js'
import { redactUrl } from '../../errors/redactUrl.js'
import type { Clock } from '../../platform/clock.js'
import { decodeAnswers, encodeCalls, errorObject, takeCallIds } from '../envelope.js'
import type { BatchOptions, Port, RpcCall, RpcFailure, RpcReply } from '../port.js'
import { OversizedAnswer, RESPONSE_BYTES_MAX, responseText } from './boundedText.js'
import { dispatch, fetchDispatcher, type Route, routeOf } from './dispatch.js'
import { type HttpResponse, retryAfterMs, withoutCredentials } from './httpMessage.js'
import { createRequestTimeouts, type RequestTimeout } from './requestTimeout.js'

export type HttpPortOptions = {
  /** The URL to post to. User and password in it become a Basic `Authorization` header, as in viem. */
  readonly url: string
  /** Options for each call of `fetch`: headers, credentials, and so on. */
  readonly fetchOptions?: Omit<RequestInit, 'body'> | undefined
  /**
   * The function to post with. If the global `fetch` is Node's own, its dispatcher is called directly from
   * the second request on: same connections, without the cost of the streams above them. @default the global
   * `fetch`, looked up at each request
   */
  readonly fetchFn?: typeof fetch | undefined
  /**
   * Milliseconds after which calls without an answer get a `timeout` failure; 0 disables it. @default 10,000
   */
  readonly timeoutMs?: number | undefined
  /**
   * Maximum size of one answer in bytes, uncompressed. A larger answer is truncated, and `malformed` for each
   * of its calls. Not guaranteed with a `fetchFn` whose responses have no web stream as their body: these are
   * read whole first. @default 64 MiB
   */
  readonly responseBytesMax?: number | undefined
  readonly clock: Clock
}

const TIMEOUT_MS = 10_000

/**
 * A port that posts each batch as one request, by `fetch` or by its dispatcher: an array for several calls,
 * an object for one. It never repeats a request, and never follows a redirect, which would post the same
 * bytes to another server.
 *
 * `fetch` itself repeats a request in one case that the port cannot prevent: on HTTP 421 (misdirected: this
 * server did not process it) it posts once more to the same URL (Fetch standard, HTTP-network-or-cache
 * fetch).
 */
export function createHttpPort(options: HttpPortOptions): Port {
  const { clock, responseBytesMax: bytesMax = RESPONSE_BYTES_MAX } = options
  const target = targetOf(options)
  const stats = { requests: 0, calls: 0 }
  const timeouts = createRequestTimeouts(clock)

  function post(body: string, timeout: RequestTimeout): Promise<HttpResponse> {
    const dispatcher = target.route && fetchDispatcher()
    if (target.route && dispatcher)
      return dispatch(dispatcher, target.route, body, { givenUp: timeout.ended, bytesMax })
    return postByFetch(options.fetchFn ?? fetch, target, { body, signal: timeout.signal }, bytesMax)
  }

  async function batch(
    calls: readonly RpcCall[],
    batchOptions: BatchOptions = {},
  ): Promise<readonly RpcReply[]> {
    if (calls.length === 0) return []
    const all = (failure: RpcFailure) => new Array<RpcReply>(calls.length).fill({ ok: false, failure })
    const timeoutMs = batchOptions.timeoutMs ?? options.timeoutMs ?? TIMEOUT_MS
    const timeout = timeouts.begin([batchOptions.signal, options.fetchOptions?.signal])
    if (timeout.reason() === 'aborted')
      return all({ kind: 'aborted', message: 'aborted before it was posted' })
    try {
      const firstId = takeCallIds(calls.length)
      const body = encodeCalls(calls, firstId)
      stats.requests++
      stats.calls += calls.length
      const posting = post(body, timeout)
      // The timeout starts after the request was sent.
      timeout.after(timeoutMs)
      const posted = await Promise.race([posting, timeout.ended])
      return decodeResponse(posted, firstId, calls.length, clock.wallNow())
    } catch (error) {
      return all(thrownFailure(error, timeout.reason(), timeoutMs))
    } finally {
      timeout.done()
    }
  }

  return { name: target.name, kind: 'http', batch, stats, close: timeouts.close }
}

/** The `fetchOptions` that a dispatcher honours in the same way. */
const DISPATCHED: readonly string[] = ['headers', 'method', 'signal']

type Target = {
  readonly name: string
  readonly url: string
  readonly init: RequestInit
  /** Set if the request can be posted without `fetch`. */
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
): Promise<HttpResponse> {
  const response = await fetchFn(url, { ...init, ...request })
  const text = await responseText(response, bytesMax)
  return { status: response.status, text, retryAfter: response.headers.get('retry-after') ?? undefined }
}

function decodeResponse(
  { status, text, retryAfter }: HttpResponse,
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
  // Some servers send valid answers with an error status. Each call keeps its own answer, together with that
  // status.
  if (Array.isArray(body)) {
    return decodeAnswers(body, firstId, count).map((reply) =>
      reply.ok ? reply : http(reply.failure.kind === 'rpc' ? withoutKind(reply.failure) : undefined),
    )
  }
  return new Array<RpcReply>(count).fill(http(errorObject(body)))
}

/** Number of characters at the start of a page that are searched for a title. */
const PAGE_START_MAX = 4_000

/** A gateway names the problem in the title of its page. */
function titleOf(text: string): string {
  const title = /<title[^<>]{0,100}>([^<]{1,200})/i.exec(text.slice(0, PAGE_START_MAX))?.[1]?.trim()
  return title ? `: a page titled "${redactText(title)}"` : ''
}

type HttpFailure = Extract<RpcFailure, { kind: 'http' }>

function withoutKind({ kind: _, ...rpc }: Extract<RpcFailure, { kind: 'rpc' }>) {
  return rpc
}

function statusText(status: number, said: string | undefined): string {
  // With redirects not followed, browsers and workers show a redirect as status 0 (Fetch standard,
  // opaque-redirect).
  if (status === 0 || (status >= 300 && status < 400)) {
    return 'the server redirects: configure the URL that it redirects to'
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
  // The request may have been written. Giving up the answer does not recall the bytes.
  if (reason === 'aborted') return { kind: 'network', message: 'aborted while waiting for the answer' }
  return { kind: 'network', message: describe(error) }
}

/** The message of `fetch` is only "fetch failed"; the reason is in the cause. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return 'the request failed'
  const { cause } = error
  const reason = cause instanceof Error ? ((cause as { code?: unknown }).code ?? cause.message) : undefined
  return redactForeign(reason === undefined ? error.message : `${error.message}: ${String(reason)}`)
}
