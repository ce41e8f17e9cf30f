import { once } from 'node:events'
import type { Hex, LocalAccount, TransactionSerializableEIP1559 } from 'viem'
import { WebSocket } from 'ws'
import type { Devnet } from '../../tools/devnet/index.js'

export type RpcBody = {
  id?: unknown
  result?: unknown
  error?: { code: number; message: string; data?: unknown }
}

/** Posts the body unchanged and returns status, headers and body of the answer. */
export async function post(
  url: string,
  body: unknown,
): Promise<{ status: number; headers: Headers; body: unknown }> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: JSON.parse(text) as unknown }
}

/** One call: its JSON-RPC answer, error or not. */
export async function ask(url: string, method: string, ...params: unknown[]): Promise<RpcBody> {
  return (await post(url, { jsonrpc: '2.0', id: 1, method, params })).body as RpcBody
}

/** Makes a call that must have a result. */
export async function rpc<t>(url: string, method: string, ...params: unknown[]): Promise<t> {
  const { result, error } = await ask(url, method, ...params)
  if (error !== undefined) throw new Error(`${method}: ${error.message}`)
  return result as t
}

export async function askAll(url: string, calls: readonly [string, ...unknown[]][]): Promise<RpcBody[]> {
  const batch = calls.map(([method, ...params], id) => ({ jsonrpc: '2.0', id, method, params }))
  return (await post(url, batch)).body as RpcBody[]
}

export const GWEI = 1_000_000_000n

type Fields = Omit<Partial<TransactionSerializableEIP1559>, 'nonce' | 'type'>

/** Signs a transfer from the account to itself, unless `fields` differ. */
export function sign(
  devnet: Devnet,
  account: LocalAccount,
  nonce: number,
  fields: Fields = {},
): Promise<Hex> {
  return account.signTransaction({
    type: 'eip1559',
    chainId: devnet.chain.id,
    nonce,
    to: account.address,
    value: 1n,
    gas: 21_000n,
    maxFeePerGas: 10n * GWEI,
    maxPriorityFeePerGas: GWEI,
    ...fields,
  })
}

/** Signs and sends a transaction; returns the node's answer. */
export async function send(
  devnet: Devnet,
  account: LocalAccount,
  nonce: number,
  fields: Fields = {},
): Promise<RpcBody> {
  return ask(devnet.url, 'eth_sendRawTransaction', await sign(devnet, account, nonce, fields))
}

/** The same for a transaction that must be accepted. */
export async function sent(
  devnet: Devnet,
  account: LocalAccount,
  nonce: number,
  fields: Fields = {},
): Promise<Hex> {
  return rpc(devnet.url, 'eth_sendRawTransaction', await sign(devnet, account, nonce, fields))
}

/** Stores 42 at slot 0, logs once without data, and deploys one byte of code, a STOP. */
const CREATION: Hex = '0x602a5f555f5fa060015ff3'

export const DEPLOY = { to: null, data: CREATION, value: 0n, gas: 200_000n } as const

export type Notification = { readonly topic: string; readonly result: unknown }

/** A WebSocket with its subscriptions, and every notification in the order of arrival. */
export type Listener = AsyncDisposable & {
  /** One call: its JSON-RPC answer, error or not. */
  ask(method: string, ...params: unknown[]): Promise<RpcBody>
  readonly seen: readonly Notification[]
  /** Results of a topic, in the order of arrival. */
  of<t>(topic: string): readonly t[]
  /** Resolves once `count` notifications of the topic arrived. */
  until(topic: string, count: number): Promise<void>
  /** Resolves once the socket is closed. */
  readonly closed: Promise<unknown>
}

export async function listen(
  url: string,
  ...topics: readonly (string | [string, unknown])[]
): Promise<Listener> {
  const socket = new WebSocket(url)
  const closed = once(socket, 'close')
  const answers = new Map<unknown, (body: RpcBody) => void>()
  const topicOf = new Map<unknown, string>()
  const seen: Notification[] = []
  let waiting: (() => void)[] = []
  let ids = 0
  await once(socket, 'open')
  socket.on('message', (data) => {
    const message = JSON.parse(data.toString())
    if (message.id !== undefined) return answers.get(message.id)?.(message)
    const { subscription, result } = message.params
    const topic = topicOf.get(subscription)
    if (topic === undefined) throw new Error(`a notification came before the id of ${subscription}`)
    seen.push({ topic, result })
    for (const look of waiting.splice(0)) look()
  })

  const listener: Listener = {
    ask(method, ...params) {
      ids += 1
      const id = ids
      return new Promise((resolve) => {
        answers.set(id, (body) => {
          if (method === 'eth_subscribe') topicOf.set(body.result, String(params[0]))
          resolve(body)
        })
        socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }))
      })
    },
    seen,
    of: <t>(topic: string) => seen.filter((one) => one.topic === topic).map(({ result }) => result as t),
    async until(topic, count) {
      while (listener.of(topic).length < count) await new Promise<void>((look) => waiting.push(look))
    },
    closed,
    async [Symbol.asyncDispose]() {
      socket.terminate()
      await closed
      waiting = []
    },
  }
  for (const topic of topics) {
    const { error } = await listener.ask('eth_subscribe', ...(typeof topic === 'string' ? [topic] : topic))
    if (error !== undefined) throw new Error(`${topic}: ${error.message}`)
  }
  return listener
}
