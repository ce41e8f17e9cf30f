import { Agent, request } from 'node:http'
import { responseTo } from '../../sweep/responses.js'
import type { Trigger } from './trigger.js'

const agent = new Agent({ keepAlive: true })

/**
 * A minimal `fetch` over Node's own HTTP that reports when the system has taken the last byte of a request.
 * The crash points apply to requests that send transactions; all others pass.
 */
export function createCrashingFetch(pass: Trigger): typeof fetch {
  return async (input, init) => {
    const body = String(init?.body ?? '')
    const sends = body.includes('eth_sendRawTransaction')
    if (sends) pass('broadcast:before')
    const answer = await post(
      String(input instanceof Request ? input.url : input),
      body,
      init?.signal,
      () => {
        if (sends) pass('broadcast:sent')
      },
    )
    if (sends) pass('broadcast:answered')
    return answer
  }
}

function post(
  url: string,
  body: string,
  signal: AbortSignal | null | undefined,
  sent: () => void,
): Promise<Response> {
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
  const posted = request(url, { method: 'POST', agent, headers, ...(signal ? { signal } : {}) })
  // The last segment was handed to the system, which delivers it even if the process dies.
  posted.once('finish', sent)
  posted.end(body)
  return responseTo(posted)
}
