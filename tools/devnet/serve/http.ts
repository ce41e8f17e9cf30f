import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Exchange, Wire } from './exchange.js'

export type HttpServer = {
  readonly server: Server
  readonly port: number
  close(): Promise<void>
}

const BODY_BYTES_MAX = 64 * 1024 * 1024

/** Serves JSON-RPC by POST on the loopback interface. `port` 0 takes a free one. */
export async function serveHttp(exchange: Exchange, port: number): Promise<HttpServer> {
  const server = createServer((request, response) => {
    if (request.method !== 'POST') {
      response.writeHead(405, { allow: 'POST' }).end()
      return
    }
    readBody(request).then(
      (body) => exchange.serve(body, wireOf(request, response)),
      () => request.destroy(),
    )
  })
  // Clients keep connections open. If the server closed idle ones, requests would be lost without a fault
  // rule.
  server.keepAliveTimeout = 0
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => resolve())
  })
  return {
    server,
    port: (server.address() as AddressInfo).port,
    close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      server.closeAllConnections()
      return closed
    },
  }
}

function readBody(request: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let bytes = 0
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > BODY_BYTES_MAX) reject(new Error('body too large'))
      else chunks.push(chunk)
    })
    request.on('end', () => resolve(Buffer.concat(chunks).toString()))
    request.on('error', reject)
  })
}

function wireOf(request: IncomingMessage, response: ServerResponse): Wire {
  const write = (status: number, headers: Record<string, string>, body: string) => {
    const length = Buffer.byteLength(body)
    response.writeHead(status, { 'content-type': 'application/json', 'content-length': length, ...headers })
    response.end(body)
  }
  return {
    reply: (body) => write(200, {}, body),
    status: write,
    destroy: () => request.socket.destroy(),
    breakOff(body) {
      // The body never reaches the announced length, so the client sees the connection break in the middle of
      // it.
      const length = Buffer.byteLength(body) + 1
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': length })
      response.write(body, () => request.socket.destroy())
    },
  }
}
