import type { Server } from 'node:http'
import type { WebSocket } from 'ws'
import { isObject, type RpcObject } from '../rpc/rpcTypes.js'
import type { Exchange, Wire } from './exchange.js'
import type { Subscriber, Subscriptions } from './subscriptions.js'

export type WsServer = { close(): void }

/**
 * JSON-RPC over WebSocket on the same port, with subscriptions. Returns undefined if the package `ws`, a
 * dependency of viem, cannot be loaded; the devnet then serves HTTP only.
 */
export async function serveWs(
  server: Server,
  exchange: Exchange,
  subscriptions: Subscriptions,
): Promise<WsServer | undefined> {
  const { WebSocketServer } = await import('ws').catch(() => ({ WebSocketServer: undefined }))
  if (WebSocketServer === undefined) return undefined
  const sockets = new WebSocketServer({ server })

  sockets.on('connection', (socket) => {
    const subscriber = subscriptions.open({
      send: (text) => socket.send(text),
      terminate: () => socket.terminate(),
    })
    socket.on('error', () => socket.terminate())
    socket.on('close', () => subscriber.close())
    socket.on('message', (data) => {
      const body = data.toString()
      void exchange.serve(body, wireOf(socket, body, subscriber))
    })
  })

  return {
    close() {
      for (const socket of sockets.clients) socket.terminate()
      sockets.close()
    },
  }
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}

function wireOf(socket: WebSocket, request: string, subscriber: Subscriber): Wire {
  return {
    subscriber,
    reply(body) {
      socket.send(body)
      subscriber.begin()
    },
    // A WebSocket message has no status, so the client gets the error of the body instead.
    status(_status, _headers, body) {
      const asked = parsed(request)
      const error = parsed(body) as RpcObject
      const one = (item: unknown) => ({ ...error, id: isObject(item) ? item.id : null })
      socket.send(JSON.stringify(Array.isArray(asked) ? asked.map(one) : one(asked)))
    },
    destroy: () => socket.terminate(),
    breakOff: () => socket.terminate(),
  }
}
