import type { Clock } from '../../platform/clock.js'
import { onAbort } from '../../platform/onAbort.js'
import { readBatchAnswer } from '../../rpc/batchAnswer.js'
import { derivedPort } from '../../rpc/limitBatches.js'
import { rateLimitOf } from '../../rpc/limits.js'
import type { BatchOptions, Port, RpcCall, RpcReply } from '../../rpc/port.js'
import type { Denial, Grant, RequestGate } from './requestGate.js'

const TIMEOUT_MS = 10_000
/** The gate is looked at again after this time, because it may pause later. */
const LOOK_MS = 1_000

/**
 * The port for reads, which wait for their turn in the request budget. A batch is cut to the number of granted calls. A read
 * that gets no grant within its time is a `timeout`, and was never sent. If the port closes, or the signal aborts,
 * nothing more is sent, and the rest is `aborted`.
 */
export function budgetedPort(port: Port, gate: RequestGate, clock: Clock): Port {
  const waiting = new Set<() => void>()
  const turns: Turns = { gate, clock, waiting }
  let closed = false
  const isOver = ({ signal }: BatchOptions) => closed || signal?.aborted === true
  const derived = derivedPort(port, async (calls, options = {}) => {
    let replies: readonly RpcReply[] = []
    while (replies.length < calls.length) {
      const rest = calls.slice(replies.length)
      const grant = isOver(options) ? undefined : await grantFor(turns, rest.length, options)
      if (isOver(options)) return [...replies, ...rest.map(() => ABORTED)]
      if (grant === undefined) return [...replies, ...rest.map(() => notAsked(gate))]
      const answers = await askGranted(port, gate, { calls: rest.slice(0, grant.calls), grant, options })
      if (answers.length === calls.length) return answers
      replies = [...replies, ...answers]
      // Further requests would fail too: the rest gets the same answers.
      const failure = answers.find((answer) => !answer.ok)
      if (failure && answers.every(isUnanswered))
        return [...replies, ...calls.slice(replies.length).map(() => failure)]
    }
    return replies
  })
  return Object.assign(derived, {
    close() {
      closed = true
      for (const giveUp of waiting) giveUp()
      port.close()
    },
  })
}

type Turns = { readonly gate: RequestGate; readonly clock: Clock; readonly waiting: Set<() => void> }

/** Sends the granted calls, and reports their end to the budget. */
export async function askGranted(
  port: Port,
  gate: RequestGate,
  request: { readonly calls: readonly RpcCall[]; readonly grant: Grant; readonly options: BatchOptions },
): Promise<readonly RpcReply[]> {
  const { calls, grant, options } = request
  const replies = await port.batch(calls, options)
  gate.ended({ calls: calls.length, sentAtMs: grant.atMs, denial: denialOf(replies) })
  return replies
}

/** The calls that were refused because of a rate limit. */
export function denialOf(replies: readonly RpcReply[]): Denial | undefined {
  const [first] = replies
  // If the first call has a result, so has the batch.
  const kind = first?.ok === false ? readBatchAnswer(replies).kind : undefined
  // "limit exceeded" for each call of a batch may mean its size: a single call will show.
  if (kind === 'alike') return undefined
  let denial: Denial | undefined
  for (const reply of replies) {
    if (reply.ok) continue
    const limit = rateLimitOf(reply.failure)
    if (limit === undefined) continue
    const { retryAfterMs } = limit
    const { calls = 0, retryAfterMs: longest, said = reply.failure.message } = denial ?? {}
    const ms = retryAfterMs === undefined ? longest : Math.max(longest ?? 0, retryAfterMs)
    denial = { calls: calls + 1, retryAfterMs: ms, said }
  }
  // One answer for the whole batch.
  if (denial === undefined && first?.ok === false && kind === 'limited')
    return { calls: replies.length, retryAfterMs: undefined, said: first.failure.message }
  return denial
}

/** Resolves to undefined if nothing is granted in time. */
function grantFor(
  { gate, clock, waiting }: Turns,
  calls: number,
  { priority = 'evidence', timeoutMs = TIMEOUT_MS, restMsMax, together, signal }: BatchOptions,
): Promise<Grant | undefined> | Grant {
  let granted: Grant | undefined
  let use = (grant: Grant): void => {
    granted = grant
  }
  const withdraw = gate.ask({ priority, calls, together }, (grant) => use(grant))
  if (granted !== undefined) return granted
  const untilMs = clock.now() + timeoutMs
  return new Promise((resolve) => {
    let cancel = () => {}
    let off = () => {}
    const end = (grant: Grant | undefined) => {
      cancel()
      off()
      waiting.delete(giveUp)
      resolve(grant)
    }
    const giveUp = () => {
      withdraw()
      end(undefined)
    }
    /**
     * If the pause of the gate exceeds the longest wait, the request is sent during the pause. Otherwise it waits for
     * its turn.
     */
    const look = () => {
      const nowMs = clock.now()
      const restMs = restMsMax === undefined ? timeoutMs : (gate.denial?.atMs ?? nowMs) + restMsMax - nowMs
      if (nowMs >= untilMs) return giveUp()
      if (restMs <= 0 && gate.isBlocked) {
        withdraw()
        return end({ calls, atMs: nowMs })
      }
      cancel = clock.setTimer(look, Math.min(untilMs - nowMs, restMs > 0 ? restMs : LOOK_MS))
    }
    use = end
    waiting.add(giveUp)
    if (signal) off = onAbort(signal, giveUp)
    look()
  })
}

const ABORTED: RpcReply = {
  ok: false,
  failure: { kind: 'aborted', message: 'aborted before it was sent' },
}

function notAsked({ denial }: RequestGate): RpcReply {
  const why = denial?.said ?? 'limits bounds how often the endpoint is asked.'
  return { ok: false, failure: { kind: 'timeout', message: `not asked in time. ${why}` } }
}

function isUnanswered(reply: RpcReply): boolean {
  return !reply.ok && reply.failure.kind !== 'rpc' && reply.failure.kind !== 'custom'
}
