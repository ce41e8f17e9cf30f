import type { Hex, LocalAccount, TransactionSerializableEIP1559 } from 'viem'
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
