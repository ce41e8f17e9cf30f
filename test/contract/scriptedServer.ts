import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type WebSocket, WebSocketServer } from 'ws'

export type ScriptedCall = {
  readonly id: unknown
  readonly method: string
  readonly params: readonly unknown[]
}

/** One request (an HTTP post or a WebSocket frame) as it arrived. */
export type ScriptedRequest = {
  readonly over: 'http' | 'webSocket'
  readonly isBatch: boolean
  readonly calls: readonly ScriptedCall[]
  /** 1 for the first request, and so on. */
  readonly number: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
}

/**
 * A text is sent unchanged, any other value as JSON. Over a WebSocket only `body`, `reset` and `hang` apply.
 */
export type ScriptedAnswer =
  | { readonly status?: number; readonly headers?: Record<string, string>; readonly body: unknown }
  /** The server drops the connection after reading the request. */
  | 'reset'
  /** The server never answers. */
  | 'hang'

export type Script = (request: ScriptedRequest) => ScriptedAnswer | Promise<ScriptedAnswer>

export type ScriptedServer = AsyncDisposable & {
  readonly url: string
  readonly wsUrl: string
  readonly requests: readonly ScriptedRequest[]
  /** The raw transactions that arrived, repeats included. */
  sends(): readonly string[]
  script(next: Script): void
  /** Closes the open WebSocket connections, and waits until they have ended. */
  dropSockets(): Promise<void>
  close(): Promise<void>
}

/** A JSON-RPC server on loopback that answers according to a script. */
export async function startScriptedServer(first: Script): Promise<ScriptedServer> {
  const requests: ScriptedRequest[] = []
  let script = first

  const take = async (over: ScriptedRequest['over'], text: string, headers: ScriptedRequest['headers']) => {
    const body = JSON.parse(text) as ScriptedCall | ScriptedCall[]
    const request: ScriptedRequest = {
      over,
      isBatch: Array.isArray(body),
      calls: Array.isArray(body) ? body : [body],
      number: requests.length + 1,
      headers,
    }
    requests.push(request)
    return await script(request)
  }

  const server = createServer((request, response) => {
    void readText(request).then(async (text) =>
      answerHttp(response, await take('http', text, request.headers)),
    )
  })
  const sockets = new WebSocketServer({ server })
  sockets.on('connection', (socket) => {
    socket.on('message', (data) => {
      void take('webSocket', String(data), {}).then((answer) => answerFrame(socket, answer))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo

  async function dropSockets(): Promise<void> {
    const open = [...sockets.clients]
    const ended = open.map((socket) => new Promise((resolve) => socket.once('close', resolve)))
    for (const socket of open) socket.terminate()
    await Promise.all(ended)
  }

  async function close(): Promise<void> {
    await dropSockets()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }

  return {
    url: `http://127.0.0.1:${port}`,
    wsUrl: `ws://127.0.0.1:${port}`,
    requests,
    sends: () => requests.flatMap(({ calls }) => calls.filter(isSend).map(({ params }) => String(params[0]))),
    script(next) {
      script = next
    },
    dropSockets,
    close,
    [Symbol.asyncDispose]: close,
  }
}

function isSend({ method }: ScriptedCall): boolean {
  return method.startsWith('eth_sendRawTransaction')
}

async function readText(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}

function answerHttp(response: ServerResponse, answer: ScriptedAnswer): void {
  if (answer === 'hang') return
  if (answer === 'reset') {
    response.socket?.destroy()
    return
  }
  response.writeHead(answer.status ?? 200, { 'content-type': 'application/json', ...answer.headers })
  response.end(textOf(answer.body))
}

function answerFrame(socket: WebSocket, answer: ScriptedAnswer): void {
  if (answer === 'hang') return
  if (answer === 'reset') socket.terminate()
  else socket.send(textOf(answer.body))
}

function textOf(body: unknown): string {
  return typeof body === 'string' ? body : JSON.stringify(body)
}

/** The answer to one call: a result, or an error object. */
export type CallAnswer = { readonly result: unknown } | { readonly error: { code: number; message: string } }

/** Answers each call separately, in order and with its id, as a well-behaved server does. */
export function answering(answer: (call: ScriptedCall) => CallAnswer): Script {
  return ({ calls, isBatch }) => {
    const answers = calls.map((call) => ({ jsonrpc: '2.0', id: call.id, ...answer(call) }))
    return { body: isBatch ? answers : answers[0] }
  }
}

/** Answers each method with the same result. */
export function results(byMethod: Readonly<Record<string, unknown>>): Script {
  return answering(({ method }) =>
    method in byMethod
      ? { result: byMethod[method] }
      : { error: { code: -32601, message: `the method ${method} does not exist/is not available` } },
  )
}
