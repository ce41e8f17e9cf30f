import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Hex } from 'viem'
import type { ServiceAccount, ServiceOptions } from '../../../src/kms/index.js'

/** The reaction of a service to a request for a signature. */
export type Reply =
  /** It signs. */
  | 'signs'
  /** It signs with another key. */
  | 'signsAsAnother'
  /** It reports too many requests, with the delay if its protocol has a field for it. */
  | 'throttles'
  /** It reports that it is unavailable. */
  | 'fails'
  /** It drops the connection. */
  | 'drops'
  /** It reports that the key may not be used. */
  | 'refuses'
  /** It never answers. */
  | 'hangs'

/** The kind of the service's key. */
type KeyKind = 'good' | 'otherCurve' | 'disabled'

/** The documented protocol of a service, on loopback. Its own SDK makes the requests if there is one. */
export type ScriptedService = AsyncDisposable & {
  /** Decides each answer from the number of earlier signature requests. */
  reply: (count: number) => Reply
  key: KeyKind
  /** The number of signature requests. */
  readonly asked: number
  account(options?: ServiceOptions): Promise<ServiceAccount>
}

export type StartService = (key: Hex) => Promise<ScriptedService>

/** The common part of the services: the counter and the decisions. */
export function createScript() {
  let asked = 0
  const script = {
    reply: (_count: number): Reply => 'signs',
    key: 'good' as KeyKind,
    get asked() {
      return asked
    },
    /** Counts one more signature request. Every second signature has the higher s. */
    next(): { readonly reply: Reply; readonly isHigh: boolean } {
      const count = asked++
      return { reply: script.reply(count), isHigh: count % 2 === 1 }
    },
  }
  return script
}

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
