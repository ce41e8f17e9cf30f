import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

export type HttpRequest = {
  readonly method: string
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

export type HttpAnswer =
  | { readonly status?: number; readonly headers?: Record<string, string>; readonly body?: string }
  /** The server drops the connection. */
  | 'drops'
  /** The server never answers. */
  | 'hangs'

/** A loopback server that answers with the given function. */
export async function startHttpService(
  answer: (request: HttpRequest) => HttpAnswer | Promise<HttpAnswer>,
): Promise<AsyncDisposable & { readonly url: string }> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', async () => {
      const { method = '', url: path = '', headers } = request
      const given = await answer({ method, path, headers, body: Buffer.concat(chunks).toString() })
      if (given === 'drops') return request.socket.destroy()
      if (given === 'hangs') return
      response.writeHead(given.status ?? 200, given.headers).end(given.body)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}
