import { redactText, redactUrl } from '../../errors/redact.js'

export type PlainCall = readonly [method: string, ...parameters: unknown[]]

/**
 * A JSON-RPC client of the fewest lines, for the check alone: it shares no code with what it checks. Sends its
 * calls in small batches and, where a node refuses those, one by one.
 */
export type PlainRpc = {
  /** Scheme and host of the node: what may be printed. */
  readonly origin: string
  /** @throws Error when the node answers with an error or not at all. */
  call(...call: PlainCall): Promise<unknown>
  /** The results in the order of the calls, `atOnce` in a request. @throws Error for the first that has none. */
  all(calls: readonly PlainCall[], atOnce?: number): Promise<readonly unknown[]>
}

type Answer = {
  readonly id?: unknown
  readonly result?: unknown
  readonly error?: { readonly message?: string }
}

const BATCH = 50
const TIMEOUT_MS = 20_000
// One request that a busy node drops is no reason to give the verdict up: every call here is a read.
const TRIES = 4

export function createPlainRpc(url: string): PlainRpc {
  const { address, headers } = withoutCredentials(url)
  let batches = true

  async function post(body: unknown): Promise<unknown> {
    for (let left = TRIES; ; left--) {
      try {
        const response = await fetch(address, {
          method: 'POST',
          headers: { 'content-type': 'application/json', ...headers },
          body: JSON.stringify(body),
          signal: AbortSignal.timeout(TIMEOUT_MS),
        })
        return (await response.json()) as unknown
      } catch (error) {
        if (left > 1) continue
        const why = error instanceof Error ? redactText(error.message) : 'no answer'
        throw new Error(`${redactUrl(url)} gave no JSON answer: ${why}`)
      }
    }
  }

  async function call(...[method, ...params]: PlainCall): Promise<unknown> {
    return resultOf(method, (await post({ jsonrpc: '2.0', id: 1, method, params })) as Answer)
  }

  async function batch(calls: readonly PlainCall[]): Promise<readonly unknown[]> {
    if (batches && calls.length > 1) {
      const posted = await post(
        calls.map(([method, ...params], id) => ({ jsonrpc: '2.0', id, method, params })),
      )
      if (Array.isArray(posted)) {
        const byId = new Map((posted as Answer[]).map((answer) => [answer.id, answer]))
        return calls.map(([method], id) => resultOf(method, byId.get(id)))
      }
      batches = false
    }
    const results: unknown[] = []
    for (const one of calls) results.push(await call(...one))
    return results
  }

  return {
    origin: redactUrl(url),
    call,
    async all(calls, atOnce = BATCH) {
      const results: unknown[] = []
      for (let at = 0; at < calls.length; at += atOnce) {
        results.push(...(await batch(calls.slice(at, at + atOnce))))
      }
      return results
    },
  }
}

function resultOf(method: string, answer: Answer | undefined): unknown {
  if (answer?.error !== undefined)
    throw new Error(`${method}: ${redactText(answer.error.message ?? 'refused')}`)
  if (answer?.result === undefined) throw new Error(`${method}: no result in the answer`)
  return answer.result
}

/** `fetch` takes no URL with user and password in it: they go into a header. */
function withoutCredentials(url: string): { address: string; headers: Record<string, string> } {
  const parsed = new URL(url)
  const { username, password } = parsed
  if (username === '' && password === '') return { address: url, headers: {} }
  parsed.username = ''
  parsed.password = ''
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  return { address: parsed.href, headers: { authorization: `Basic ${Buffer.from(pair).toString('base64')}` } }
}
