import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Passes requests on to a node, and counts what goes by. */
export type CountingProxy = AsyncDisposable & {
  readonly url: string
  readonly requests: number
  /** Raw transactions handed to the node. */
  readonly sends: number
}

export async function startCountingProxy(target: string): Promise<CountingProxy> {
  const counted = { requests: 0, sends: 0 }
  const server = createServer(async (request, response) => {
    const body = await bodyOf(request)
    counted.requests++
    counted.sends += body.split('"eth_sendRawTransaction"').length - 1
    try {
      const headers = { 'content-type': 'application/json' }
      const answer = await fetch(target, { method: 'POST', headers, body })
      response.writeHead(answer.status, headers).end(await answer.text())
    } catch {
      response.destroy()
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    get requests() {
      return counted.requests
    },
    get sends() {
      return counted.sends
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = ''
  for await (const chunk of request.setEncoding('utf8')) body += chunk
  return body
}
