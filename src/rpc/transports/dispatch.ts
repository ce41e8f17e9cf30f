import { boundedText, OversizedAnswer } from './boundedText.js'
import type { Posted } from './httpResponse.js'

/** Where a request goes, in the words of a dispatcher. */
export type Route = {
  readonly origin: string
  readonly path: string
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
}

type Abort = (reason?: Error) => void

/** Told of one request. Returning true asks for more. */
type Handler = {
  onConnect(abort: Abort): void
  onHeaders(status: number, rawHeaders: readonly Uint8Array[]): boolean
  onData(chunk: Uint8Array): boolean
  onComplete(): void
  onError(error: Error): void
}

/** The part of undici's `Dispatcher` that is used here. */
export type Dispatcher = { dispatch(request: Route & { readonly body: string }, handler: Handler): boolean }

// The number is the version of its interface (undici lib/global.js); what has a newer one is there under this, too.
const GLOBAL = Symbol.for('undici.globalDispatcher.1')
// What only Node's own code can ask for (Node 20 to 26, lib/internal/bootstrap/web/exposed-window-or-worker.js).
const NODES_OWN = "require('internal/deps/undici/undici')"
let known: typeof fetch | undefined
let isNodesOwn = false

/**
 * What Node's `fetch` itself sends by, once it has sent anything: connections, proxies and mocks are the same. The Fetch
 * standard's streams and objects above it are three quarters of what a request costs this process.
 *
 * Undefined on other platforms, and where somebody has put another `fetch` in its place, who wants to be asked.
 */
export function fetchDispatcher(): Dispatcher | undefined {
  const { fetch, [GLOBAL]: dispatcher } = globalThis as typeof globalThis & { [GLOBAL]?: Dispatcher }
  if (fetch !== known) {
    known = fetch
    isNodesOwn = Function.prototype.toString.call(fetch).includes(NODES_OWN)
  }
  return isNodesOwn ? dispatcher : undefined
}

/** What `fetch` sends along (Fetch standard; undici lib/web/fetch/index.js): some servers refuse what has no agent. */
const FETCH_HEADERS = {
  accept: '*/*',
  'accept-language': '*',
  'sec-fetch-mode': 'cors',
  'user-agent': 'node',
  'accept-encoding': 'gzip',
}

/** Undefined where only `fetch` knows what to do: with other URLs than HTTP's, or encodings that were asked for. */
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
 * Posts a body and reads the answer. `givenUp` rejects when nobody waits for it any more.
 * @throws OversizedAnswer for an answer of more than `bytesMax`, as it comes or unpacked
 */
export function dispatch(
  dispatcher: Dispatcher,
  route: Route,
  body: string,
  { givenUp, bytesMax }: { readonly givenUp: Promise<never>; readonly bytesMax: number },
): Promise<Posted> {
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
          // It waited for a connection, and is not to be written any more.
          if (isGivenUp) own()
        },
        onHeaders(answered, rawHeaders) {
          // Of 1xx more follows (RFC 9110, 15.2).
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
        // In the words of `fetch`.
        onError: (cause) => reject(new TypeError(status === 0 ? 'fetch failed' : 'terminated', { cause })),
      },
    )
  })
}

const decoder = new TextDecoder()

/** Names and values take turns. */
function header(raw: readonly Uint8Array[], name: string): string | undefined {
  for (let index = 0; index + 1 < raw.length; index += 2) {
    if (raw[index]?.length === name.length && decoder.decode(raw[index]).toLowerCase() === name)
      return decoder.decode(raw[index + 1])
  }
  return undefined
}

/** As `fetch` does, names of encodings in any case and `x-gzip` for gzip (RFC 9110, 8.4.1). */
async function textOf(chunks: readonly Uint8Array[], coding = 'identity', bytesMax: number): Promise<string> {
  const encoding = coding.toLowerCase().replace(/^x-/, '')
  const isPlain = encoding === 'identity'
  const [only] = chunks
  if (isPlain && only && chunks.length === 1) return decoder.decode(only)
  const blob = new Blob([...chunks] as BlobPart[])
  if (isPlain) return blob.text()
  if (encoding !== 'gzip') throw new Error(`the answer comes as ${encoding}, which was not asked for`)
  return boundedText(blob.stream().pipeThrough(new DecompressionStream(encoding)), bytesMax)
}
