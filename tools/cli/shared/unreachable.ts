import { STATUS_CODES } from 'node:http'
import { BaseError, createClient, HttpRequestError, http, RpcRequestError, TimeoutError } from 'viem'
import { quoteOf } from '../../../src/errors/quote.js'

/** Why a node did not answer `eth_chainId`, without credentials of its URL. */
export async function whyUnanswered(url: string, error: unknown): Promise<string> {
  const known = transportReason(url, error)
  if (known !== undefined) return known
  // The answer to a batch may be one error without a number: the same request alone shows it.
  const alone = createClient({ transport: http(url, { retryCount: 0 }) }).request({ method: 'eth_chainId' })
  return alone.then(
    (id) =>
      isChainId(id)
        ? 'it answers single requests, but no batches of them'
        : `its answer is no id of a chain: ${saidBy(url, JSON.stringify(id) ?? 'nothing')}`,
    (failed: unknown) =>
      transportReason(url, failed) ?? 'its answer is no JSON-RPC: is this the URL of a node?',
  )
}

const isChainId = (id: unknown): boolean => typeof id === 'string' && /^0x[0-9a-f]+$/i.test(id)

function transportReason(url: string, error: unknown): string | undefined {
  const found = (test: (each: unknown) => boolean) =>
    error instanceof BaseError ? (error.walk(test) ?? undefined) : undefined
  const rpc = found((each) => each instanceof RpcRequestError)
  if (rpc instanceof RpcRequestError) return `the node says ${saidBy(url, rpc.details)}`
  if (found((each) => each instanceof TimeoutError)) return 'no answer came in time'
  const failed = found((each) => each instanceof HttpRequestError)
  if (!(failed instanceof HttpRequestError)) return undefined
  if (failed.status !== undefined) return statusText(url, failed.status, failed.details)
  return networkText(url, failed)
}

function statusText(url: string, status: number, said: string): string {
  const name = STATUS_CODES[status]
  const line = `HTTP ${status}${name === undefined ? '' : ` (${name})`}`
  const text = isPage(said) ? 'a web page' : said === name || said.trim() === '' ? '' : saidBy(url, said)
  return text === '' ? line : `${line}, ${text}`
}

const isPage = (text: string): boolean => /^[\s"]*<(?:!doctype|html|head|body|\?xml)/i.test(text)

const CODES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused: does the node run, on this port?',
  ECONNRESET: 'the connection was cut',
  ENOTFOUND: 'its host name is unknown',
  EAI_AGAIN: 'its host name could not be looked up',
  ETIMEDOUT: 'no answer came in time',
  EHOSTUNREACH: 'its host cannot be reached',
  ENETUNREACH: 'its network cannot be reached',
  UND_ERR_SOCKET: 'the connection was cut',
}

function networkText(url: string, error: HttpRequestError): string {
  if (error.walk((each) => each instanceof SyntaxError) instanceof SyntaxError)
    return 'its answer is no JSON, as that of a web page: is this the URL of a node?'
  const coded = error.walk((each) => typeof (each as { code?: unknown }).code === 'string')
  const code = (coded as { code?: string } | null)?.code
  if (code !== undefined) return CODES[code] ?? code
  const deepest = error.walk()
  return saidBy(url, deepest instanceof Error ? deepest.message : error.details)
}

/** Parts of a URL that are shorter are words such as `v2`. */
const SECRET_MIN = 4

/** A quotation. The path of the URL may be a key, which a node may send back. */
function saidBy(url: string, said: string): string {
  const { username, password, pathname, search } = new URL(url)
  const parts = [username, password, ...pathname.split('/'), ...search.split(/[?&=]/)]
  const secrets = parts.flatMap((part) => [part, decoded(part)]).filter((part) => part.length >= SECRET_MIN)
  const text = secrets.reduce((left, secret) => left.replaceAll(secret, '…'), said)
  return `"${quoteOf(text.replace(/^"|"$/g, ''))}"`
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
