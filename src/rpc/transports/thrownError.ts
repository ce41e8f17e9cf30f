import { redactForeign } from '../../errors/redact.js'
import type { RpcErrorObject } from '../envelope.js'
import { readStatements, type Statement } from '../statements.js'

// The error range of JSON-RPC 2.0 begins at -32000 and goes down; geth's `eth_simulateV1` has codes below it. 3 is a
// revert (geth internal/ethapi/errors.go), 429 Alchemy's rate limit.
const JSON_RPC_CODE_MAX = -32_000
const POSITIVE_CODES: ReadonlySet<unknown> = new Set([3, 429])
const SERVER_ERROR_MIN = 500
// What viem's errors say for a code that came without a message ends so (errors/base.ts).
const VIEMS_OWN = /\bVersion: viem@/

/**
 * The JSON-RPC error with which a transport rejected: the innermost layer with a code and a message, which is the
 * node's; the outer ones are those of libraries. Undefined where no layer has both, and beside an HTTP status of 5xx,
 * whose words are those of a proxy.
 *
 * Other numbers are not JSON-RPC's: -1 is viem's for "unknown", 1000 to 4999 are a socket's and a wallet's (EIP-1193),
 * small ones those of `DOMException` and of gRPC.
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
