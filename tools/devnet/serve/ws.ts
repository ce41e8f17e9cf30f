import type { Server } from 'node:http'
import type { Hex } from 'viem'
import type { WebSocket } from 'ws'
import type { SealedBlock } from '../chain/chainView.js'
import { hexOf, isObject, type RpcObject } from '../rpc/rpcTypes.js'
import type { Exchange } from './exchange.js'

export type WsServer = {
  flashblock(hashes: readonly Hex[], pending: () => RpcObject): void
  sealed(block: SealedBlock): void
  close(): void
}

const TOPICS = new Set(['newHeads', 'newFlashblocks', 'newFlashblockTransactions'])

/**
 * JSON-RPC over WebSocket on the same port, with `newHeads` and Base's two flashblock subscriptions. Returns
 * undefined if the package `ws`, a dependency of viem, cannot be loaded; the devnet then serves HTTP only.
 */
export async function serveWs(server: Server, exchange: Exchange): Promise<WsServer | undefined> {
  const { WebSocketServer } = await import('ws').catch(() => ({ WebSocketServer: undefined }))
  if (WebSocketServer === undefined) return undefined
  const sockets = new WebSocketServer({ server })
  const subscriptions = new Map<string, { socket: WebSocket; topic: string }>()
  let ids = 0

  function publish(topic: string, result: () => unknown): void {
    for (const [subscription, { socket, topic: wanted }] of subscriptions) {
      if (wanted !== topic) continue
      const params = { subscription, result: result() }
      socket.send(JSON.stringify({ jsonrpc: '2.0', method: 'eth_subscription', params }))
    }
  }

  /** Answers a message about subscriptions. Such messages never reach the gateway. */
  function subscribe(socket: WebSocket, message: unknown): string | undefined {
    if (!isObject(message) || !Array.isArray(message.params)) return undefined
    const { id, method, params } = message
    const [topic] = params as unknown[]
    const answer = (body: RpcObject) => JSON.stringify({ jsonrpc: '2.0', id, ...body })
    if (method === 'eth_unsubscribe') return answer({ result: subscriptions.delete(String(topic)) })
    if (method !== 'eth_subscribe') return undefined
    if (typeof topic !== 'string' || !TOPICS.has(topic)) {
      return answer({ error: { code: -32602, message: `no "${String(topic)}" subscription` } })
    }
    ids += 1
    const subscription = hexOf(ids)
    subscriptions.set(subscription, { socket, topic })
    return answer({ result: subscription })
  }

  sockets.on('connection', (socket) => {
    socket.on('error', () => socket.terminate())
    socket.on('close', () => {
      for (const [id, one] of subscriptions) if (one.socket === socket) subscriptions.delete(id)
    })
    socket.on('message', (data) => {
      const body = data.toString()
      const answer = body.includes('subscribe') ? subscribe(socket, parsed(body)) : undefined
      if (answer !== undefined) socket.send(answer)
      else void exchange.serve(body, wireOf(socket, body))
    })
  })

  return {
    flashblock(hashes, pending) {
      publish('newFlashblocks', pending)
      for (const hash of hashes) publish('newFlashblockTransactions', () => hash)
    },
    sealed: ({ header }) => publish('newHeads', () => header),
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

function wireOf(socket: WebSocket, request: string) {
  return {
    reply: (body: string) => socket.send(body),
    // A WebSocket message has no status, so the client gets the error of the body instead.
    status(_status: number, _headers: Record<string, string>, body: string) {
      const asked = parsed(request)
      const error = parsed(body) as RpcObject
      const one = (item: unknown) => ({ ...error, id: isObject(item) ? item.id : null })
      socket.send(JSON.stringify(Array.isArray(asked) ? asked.map(one) : one(asked)))
    },
    destroy: () => socket.terminate(),
    breakOff: () => socket.terminate(),
  }
}
