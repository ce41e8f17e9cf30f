import type { Hash } from 'viem'
import type { PoolEndpoint } from '../../chain/endpoints/endpointPool.js'
import type { Attempt } from '../../ledger/slot.js'
import type { SendOutcome } from '../../rpc/outcome.js'
import type { RpcReply } from '../../rpc/port.js'
import type { Said } from './endpointSender.js'
import type { createRefusals } from './refusals.js'

/** Details that accompany an outcome. */
export type Reported = {
  /** The endpoint's name and its message, if it answered with anything but the hash. */
  readonly words: string | undefined
  /** If the endpoint does not accept the bytes: the delay until they are offered again, in milliseconds. */
  readonly againMs?: number | undefined
}

export type SendReportParts = {
  readonly refusals: ReturnType<typeof createRefusals>
  readonly sent: (nonce: number) => void
  readonly outcome: (nonce: number, hash: Hash, outcome: SendOutcome, details: Reported) => void
}

/** Reports the result of a send to the lane, with refusals spaced by `createRefusals`. */
export function createSendReport({ refusals, sent, outcome: report }: SendReportParts): (said: Said) => void {
  return ({ endpoint, nonce, attempt, outcome, answer, reply }) => {
    if (beginsAnew(attempt, outcome, reply)) sent(nonce)
    const paced = refusals.paced({ nonce, attempt, outcome, answer })
    report(nonce, attempt.hash, paced.outcome, {
      words: wordsOf(endpoint, reply),
      againMs: paced.againMs,
    })
  }
}

/**
 * Whether the wait for inclusion starts over: the bytes reached no endpoint, were not accepted yet, or have
 * just been accepted. A refusal that waiting does not cure, and an unknown error message, let the time run
 * on. Otherwise bytes that are refused in every block would never be bumped, given up or reported as stuck.
 */
function beginsAnew(attempt: Attempt, said: SendOutcome, reply: RpcReply | undefined): boolean {
  const { outcome, reason, counted } = said
  if (outcome === 'accepted') return !attempt.accepted
  if (outcome === 'refused') return !counted && reason !== 'replacementUnderpriced'
  return outcome === 'unknown' && (reply === undefined || (!reply.ok && !SPOKEN.has(reply.failure.kind)))
}

const SPOKEN: ReadonlySet<string> = new Set(['rpc', 'custom'])

function wordsOf({ port }: PoolEndpoint, reply: RpcReply | undefined): string | undefined {
  if (reply === undefined || reply.ok) return undefined
  const { failure } = reply
  return `${port.name} said: ${(failure.kind === 'http' ? failure.rpc?.message : undefined) ?? failure.message}`
}
