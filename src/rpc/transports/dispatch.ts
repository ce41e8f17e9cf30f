import { boundedText, OversizedAnswer } from './boundedText.js'
import type { HttpResponse } from './httpMessage.js'

/** The target of a request, in the terms of an undici dispatcher. */
export type Route = {
  readonly origin: string
  readonly path: string
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
}

type Abort = (reason?: Error) => void

/** Callbacks for one request. Returning true asks for more data. */
type Handler = {
  onConnect(abort: Abort): void
  onHeaders(status: number, rawHeaders: readonly Uint8Array[]): boolean
  onData(chunk: Uint8Array): boolean
  onComplete(): void
  onError(error: Error): void
}

/** The part of undici's `Dispatcher` that is used here. */
export type Dispatcher = { dispatch(request: Route & { readonly body: string }, handler: Handler): boolean }

// The number is the version of the interface (undici lib/global.js). Newer dispatchers are registered under
// this version too.
const GLOBAL = Symbol.for('undici.globalDispatcher.1')
// A module id that only Node's own code can require (Node 20 to 26,
// lib/internal/bootstrap/web/exposed-window-or-worker.js).
const NODES_OWN = "require('internal/deps/undici/undici')"
let known: typeof fetch | undefined
let isNodesOwn = false

/**
 * The dispatcher under Node's `fetch`, available after its first request. It uses the same connections,
 * proxies and mocks. The streams and objects of the Fetch standard above it make up three quarters of the
 * cost of a request in this process.
 *
 * Undefined on other platforms, and if the global `fetch` was replaced, because the replacement has to be
 * called.
 */
export function fetchDispatcher(): Dispatcher | undefined {
  const { fetch, [GLOBAL]: dispatcher } = globalThis as typeof globalThis & { [GLOBAL]?: Dispatcher }
  if (fetch !== known) {
    known = fetch
    isNodesOwn = Function.prototype.toString.call(fetch).includes(NODES_OWN)
  }
  return isNodesOwn ? dispatcher : undefined
}

/**
 * Headers that `fetch` adds (Fetch standard; undici lib/web/fetch/index.js). Some servers refuse requests
 * without a user agent.
 */
const FETCH_HEADERS = {
  accept: '*/*',
  'accept-language': '*',
  'sec-fetch-mode': 'cors',
  'user-agent': 'node',
  'accept-encoding': 'gzip',
}

/**
 * The dispatcher route of a request. Undefined if only `fetch` can send it: for URLs other than HTTP, or if
 * the caller asks for certain encodings.
 */
export function routeOf(url: string, method: string, headers: Headers): Route | undefined {
  if (!/^https?:/i.test(url) || !URL.canParse(url) || headers.has('accept-encoding')) return undefined
  const { origin, pathname, search } = new URL(url)
  return {
    origin,
    path: pathname + search,
    method,
    headers: { ...FETCH_HEADERS, ...Object.fromEntries(headers) },
  }
}

/**
 * Posts a body and reads the answer. `givenUp` rejects when no caller waits for the answer any more.
 *
 * @throws OversizedAnswer for an answer of more than `bytesMax`, compressed or uncompressed
 */
export function dispatch(
  dispatcher: Dispatcher,
  route: Route,
  body: string,
  { givenUp, bytesMax }: { readonly givenUp: Promise<never>; readonly bytesMax: number },
): Promise<HttpResponse> {
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = []
    let bytes = 0
    let status = 0
    let headers: readonly Uint8Array[] = []
    let abort: Abort | undefined
    let isGivenUp = false
    givenUp.catch(() => {
      isGivenUp = true
      abort?.()
    })
    dispatcher.dispatch(
      { ...route, body },
      {
        onConnect(own) {
          abort = own
          // The request waited for a connection, and must not be written after it was given up.
          if (isGivenUp) own()
        },
        onHeaders(answered, rawHeaders) {
          // After a 1xx status the final response follows (RFC 9110, 15.2).
          status = answered
          headers = rawHeaders
          return true
        },
        onData(chunk) {
          bytes += chunk.length
          if (bytes <= bytesMax) return chunks.push(chunk) > 0
          chunks.length = 0
          reject(new OversizedAnswer(bytesMax))
          abort?.()
          return false
        },
        onComplete() {
          textOf(chunks, header(headers, 'content-encoding'), bytesMax).then(
            (text) => resolve({ status, text, retryAfter: header(headers, 'retry-after') }),
            reject,
          )
        },
        // The same messages as `fetch`.
        onError: (cause) => reject(new TypeError(status === 0 ? 'fetch failed' : 'terminated', { cause })),
      },
    )
  })
}

const decoder = new TextDecoder()

/** Names and values alternate. */
function header(raw: readonly Uint8Array[], name: string): string | undefined {
  for (let index = 0; index + 1 < raw.length; index += 2) {
    if (raw[index]?.length === name.length && decoder.decode(raw[index]).toLowerCase() === name)
      return decoder.decode(raw[index + 1])
  }
  return undefined
}

/** As in `fetch`, the names of encodings are case-insensitive, and `x-gzip` means gzip (RFC 9110, 8.4.1). */
async function textOf(chunks: readonly Uint8Array[], coding = 'identity', bytesMax: number): Promise<string> {
  const encoding = coding.toLowerCase().replace(/^x-/, '')
  const isPlain = encoding === 'identity'
  const [only] = chunks
  if (isPlain && only && chunks.length === 1) return decoder.decode(only)
  const blob = new Blob([...chunks] as BlobPart[])
  if (isPlain) return blob.text()
  if (encoding !== 'gzip') throw new Error(`the answer has the encoding ${encoding}, which was not requested`)
  return boundedText(blob.stream().pipeThrough(new DecompressionStream(encoding)), bytesMax)
}
