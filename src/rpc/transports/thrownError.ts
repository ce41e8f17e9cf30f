import { redactForeign } from '../../errors/redact.js'
import type { RpcErrorObject } from '../envelope.js'
import { readStatements, type Statement } from '../statements.js'

// The error range of JSON-RPC 2.0 begins at -32000 and goes down; geth's `eth_simulateV1` has codes below it.
// 3 is a revert (geth internal/ethapi/errors.go), 429 is Alchemy's rate limit.
const JSON_RPC_CODE_MAX = -32_000
const POSITIVE_CODES: ReadonlySet<unknown> = new Set([3, 429])
const SERVER_ERROR_MIN = 500
// The end of the message that viem makes for a code without a message (errors/base.ts).
const VIEMS_OWN = /\bVersion: viem@/

/**
 * The JSON-RPC error with which a transport rejected: the innermost layer with a code and a message. That
 * layer is the node's; the outer ones are made by libraries. Undefined if no layer has both, or if the HTTP
 * status is 5xx, because the message is a proxy's then.
 *
 * Other numbers are not JSON-RPC codes: -1 is viem's "unknown", 1000 to 4999 belong to sockets and wallets
 * (EIP-1193), small ones to `DOMException` and gRPC.
 */
export function thrownRpcError(thrown: unknown): RpcErrorObject | undefined {
  const layers = readStatements(thrown)
  if (layers.some(({ status }) => status !== undefined && status >= SERVER_ERROR_MIN)) return undefined
  for (const { code, data, texts } of [...layers].reverse()) {
    const message = texts.find((text) => text.trim() !== '' && !VIEMS_OWN.test(text))
    if (message === undefined || !isJsonRpcCode(code)) continue
    const error = { code, message: redactForeign(message) }
    return data === undefined ? error : { ...error, data }
  }
  return undefined
}

function isJsonRpcCode(code: Statement['code']): code is number {
  if (!Number.isSafeInteger(code)) return false
  return (code as number) <= JSON_RPC_CODE_MAX || POSITIVE_CODES.has(code)
}
