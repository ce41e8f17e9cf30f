import { quoteOf } from '../../errors/quote.js'
import type { Clock } from '../../platform/clock.js'
import { isNodesAnswer } from '../../rpc/limits.js'
import type { Port, RpcFailure, RpcReply } from '../../rpc/port.js'

/** The state of an endpoint whose answers are of no use: the time of the first one, in wall time, and the last words. */
export type Trouble = { readonly sinceMs: number; readonly said: string }

/** Detects when the answers of an endpoint become useless, and when they are useful again. */
export type TroubleWatch = {
  /** The same port, with a check of each answer. */
  readonly port: Port
  readonly trouble: Trouble | undefined
  /** The caller of a read could not use the answer; with `false` it could again. */
  nonsense(said: string | false): void
}

/** Trouble needs this number of failures in a row over this time: one lost request is none. */
const FAILURES = 2
const FAILING_MS = 1_000
/** After this time without a complaint, the answers count as good again. */
const FORGET_MS = 10_000

/** `changed` is called once for each change of the state. */
export function watchTrouble(
  port: Port,
  clock: Pick<Clock, 'now' | 'wallNow'>,
  changed: () => void,
): TroubleWatch {
  let failures = 0
  let failingSinceMs = 0
  let since = 0
  let trouble: Trouble | undefined
  // The time of the last complaint.
  let nonsenseMs = Number.NEGATIVE_INFINITY
  // The words of the last failure: they explain more than the complaint of a caller.
  let words: string | undefined

  function useful(): void {
    if (clock.now() - nonsenseMs < FORGET_MS) return
    failures = 0
    if (trouble === undefined) return
    trouble = undefined
    changed()
  }

  function useless(said: string): void {
    if (failures++ === 0) {
      failingSinceMs = clock.now()
      since = clock.wallNow()
    }
    if (failures < FAILURES || clock.now() - failingSinceMs < FAILING_MS) return
    const isNews = trouble === undefined
    trouble = { sinceMs: since, said: quoteOf(said) }
    if (isNews) changed()
  }

  function note(replies: readonly RpcReply[]): void {
    const failure = uselessness(replies)
    words = failure?.message
    if (failure === undefined) return useful()
    if (failure.kind !== 'aborted') useless(failure.message)
  }

  return {
    port: {
      get name() {
        return port.name
      },
      kind: port.kind,
      stats: port.stats,
      notifications: port.notifications,
      batch(calls, options) {
        const answering = port.batch(calls, options)
        // The check runs beside the caller, which does not wait for it.
        answering.then(note, () => {})
        return answering
      },
      close: () => port.close(),
    },
    get trouble() {
      return trouble
    },
    nonsense(said) {
      nonsenseMs = said === false ? Number.NEGATIVE_INFINITY : clock.now()
      if (said === false) useful()
      else useless(words ?? said)
    },
  }
}

/** Undefined if the node itself answered at least one call, even with a refusal. */
function uselessness(replies: readonly RpcReply[]): RpcFailure | undefined {
  let first: RpcFailure | undefined
  for (const reply of replies) {
    if (reply.ok || isNodesAnswer(reply)) return undefined
    first ??= reply.failure
  }
  return first
}
