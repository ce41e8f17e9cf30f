import type { Hex } from 'viem'

/** A JSON object in wire format: quantities are hex strings. */
export type RpcObject = Record<string, unknown>

export type RpcRequest = { readonly method: string; readonly params: readonly unknown[] }

export type RpcErrorObject = { readonly code: number; readonly message: string; readonly data?: unknown }

export type RpcReply = { readonly result: unknown } | { readonly error: RpcErrorObject }

export function ok(result: unknown): RpcReply {
  return { result }
}

export function fail(code: number, message: string, data?: unknown): RpcReply {
  return { error: data === undefined ? { code, message } : { code, message, data } }
}

/** The code that geth returns for nearly every failed call or send. */
export const SERVER_ERROR = -32000
export const INVALID_PARAMS = -32602
export const METHOD_NOT_FOUND = -32601
export const INVALID_REQUEST = -32600

export function hexOf(value: number | bigint): Hex {
  return `0x${value.toString(16)}`
}

export function isObject(value: unknown): value is RpcObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A quantity or a hash of one of anvil's results, which is trusted to have the documented shape. */
export function text(object: RpcObject, key: string): Hex {
  return object[key] as Hex
}

export function number(object: RpcObject, key: string): number {
  return Number(object[key] as string)
}

export function bigint(object: RpcObject, key: string): bigint {
  return BigInt(object[key] as string)
}
