import { BaseError } from 'viem'
import { redactForeign } from '../../../../../src/errors/redact.js'

/** Why the node did not run a call. `unknown`: its answer says nothing about the call. */
export type Failure = { readonly kind: 'reverts' | 'funds' | 'unknown'; readonly why: string }

// geth uses code 3 for a revert; other clients show it by the message only.
const REVERTED =
  /revert|invalid opcode|out of gas|gas required exceeds|stack (under|over)flow|invalid jump|evm error|execution (error|failed)|vm exception/i
const FUNDS = /insufficient (funds|balance)|exceeds transaction sender account balance/i

export function failureOf(error: unknown): Failure {
  const why = reasonOf(error)
  const isRevert = error instanceof BaseError && hasRevertCode(error)
  if (isRevert || REVERTED.test(why)) return { kind: 'reverts', why }
  return { kind: FUNDS.test(why) ? 'funds' : 'unknown', why }
}

const hasRevertCode = (error: BaseError): boolean =>
  error.walk((each) => (each as { readonly code?: unknown }).code === 3) !== null

/** The node's words, without a URL. */
function reasonOf(error: unknown): string {
  if (!(error instanceof BaseError)) return redactForeign(String(error))
  return redactForeign(error.details || error.shortMessage)
}
