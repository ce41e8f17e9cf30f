import { redactText } from '../../src/errors/redact.js'
import { redactUrl } from '../../src/errors/redactUrl.js'

export type PlainCall = readonly [method: string, ...parameters: unknown[]]

/**
 * A minimal JSON-RPC client, used only by the check, so that the check shares no code with its subject. It
 * sends small batches, or single calls to a node that refuses batches.
 */
export type PlainRpc = {
  /** Scheme and host of the node: safe to print. */
  readonly origin: string
  /** @throws Error if the node answers with an error or not at all. */
  call(...call: PlainCall): Promise<unknown>
  /**
   * Resolves to the results in call order, `atOnce` calls per request.
   * @throws Error for the first call without a result.
   */
  all(calls: readonly PlainCall[], atOnce?: number): Promise<readonly unknown[]>
}

type Answer = {
  readonly id?: unknown
  readonly result?: unknown
  readonly error?: { readonly message?: string }
}

const BATCH = 50
const TIMEOUT_MS = 20_000
// A dropped request of a busy node must not end the check. All calls are reads, so a retry is safe.
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

/** `fetch` rejects a URL with user and password, so they go into a header. */
function withoutCredentials(url: string): { address: string; headers: Record<string, string> } {
  const parsed = new URL(url)
  const { username, password } = parsed
  if (username === '' && password === '') return { address: url, headers: {} }
  parsed.username = ''
  parsed.password = ''
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  return { address: parsed.href, headers: { authorization: `Basic ${Buffer.from(pair).toString('base64')}` } }
}
