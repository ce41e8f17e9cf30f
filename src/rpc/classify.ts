import type { Hex } from 'viem'
import { matchMessage, nonceHint, normalise, tellsOfRevert } from './matchMessage.js'
import type { SendOutcome, SendReason } from './outcome.js'
import type { RpcReply } from './port.js'
import { property, readStatements, type Statement } from './statements.js'

export type { SendOutcome, SendReason } from './outcome.js'

export type ClassifyOptions = {
  /** The same bytes were sent before. @default false */
  readonly resend?: boolean | undefined
}

export function classifySendError(error: unknown, _options?: ClassifyOptions): SendOutcome {
  const statements = readStatements(error)
  if (statements.some(tellsRevert)) return unknown()
  const outcome = byMessage(statements) ?? byCode(statements) ?? unknown()
  return wordOfNobody(error, statements) ? { ...unknown(), reason: outcome.reason } : outcome
}

export function classifyReply(reply: RpcReply, sentHash: Hex): SendOutcome {
  if (!reply.ok) return classifySendError(reply.failure)
  const hash = typeof reply.result === 'string' ? reply.result : property(reply.result, 'transactionHash')
  const same = typeof hash === 'string' && hash.toLowerCase() === sentHash.toLowerCase()
  return same ? { outcome: 'accepted', reason: 'unknown', counted: false } : unknown()
}

function unknown(reason: SendReason = 'unknown'): SendOutcome {
  return { outcome: 'unknown', reason, counted: false }
}

function tellsRevert({ texts, code }: Statement): boolean {
  return code === 3 || code === 'CALL_EXCEPTION' || texts.some((text) => tellsOfRevert(normalise(text)))
}

const NOBODY = new Set(['timeout', 'network', 'malformed', 'aborted', 'custom'])

function wordOfNobody(error: unknown, statements: readonly Statement[]): boolean {
  const kind = property(error, 'kind')
  return (
    (typeof kind === 'string' && NOBODY.has(kind)) ||
    statements.some(({ status }) => status !== undefined && status >= 500)
  )
}

function byMessage(statements: readonly Statement[]): SendOutcome | undefined {
  for (const { texts } of [...statements].reverse()) {
    for (const text of texts) {
      const normalised = normalise(text)
      const group = matchMessage(normalised)
      if (group === undefined) continue
      const { outcome, reason, counted = false } = group
      const expectedNonce =
        reason === 'nonceTooLow' || reason === 'nonceTooHigh' ? nonceHint(normalised) : undefined
      return { outcome, reason, counted, ...(expectedNonce === undefined ? {} : { expectedNonce }) }
    }
  }
  return undefined
}

function byCode(statements: readonly Statement[]): SendOutcome | undefined {
  for (const { code, status, retryAfterMs } of [...statements].reverse()) {
    if (status === 429)
      return {
        outcome: 'refused',
        reason: 'rateLimited',
        counted: false,
        ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
      }
    if (code === 4) return { outcome: 'accepted', reason: 'syncTimeout', counted: false }
    if (code === 6) return { outcome: 'refused', reason: 'nonceTooHigh', counted: false }
    if (code === -32601) return unknown('methodMissing')
  }
  return undefined
}
