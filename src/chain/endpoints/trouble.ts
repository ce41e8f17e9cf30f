import { quoteOf } from '../../errors/quote.js'
import type { Clock } from '../../platform/clock.js'
import { isRateLimit } from '../../rpc/errors.js'
import type { Port, RpcFailure, RpcReply } from '../../rpc/port.js'

/** An endpoint whose answers are of no use: since when, in wall time, and what it said last. */
export type Trouble = { readonly sinceMs: number; readonly said: string }

/** Notices when the answers of an endpoint are of no use, and when they are again. */
export type TroubleWatch = {
  /** The same port, whose answers are looked at as they pass. */
  readonly port: Port
  readonly trouble: Trouble | undefined
  /** Whoever asked could make nothing of what was answered; with `false` it could again. */
  nonsense(said: string | false): void
}

/** So many answers in a row, over so long: one lost request is no trouble. */
const FAILURES = 2
const FAILING_MS = 1_000
/** Nobody has complained of its answers for so long: they are as good as they look. */
const FORGET_MS = 10_000

/** `changed` is called once for each change. */
export function watchTrouble(
  port: Port,
  clock: Pick<Clock, 'now' | 'wallNow'>,
  changed: () => void,
): TroubleWatch {
  let failures = 0
  let failingSinceMs = 0
  let since = 0
  let trouble: Trouble | undefined
  // When somebody complained of its answers last.
  let nonsenseMs = Number.NEGATIVE_INFINITY
  // Of the last answer, where it was none: these say more than whoever could make nothing of it.
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
      batch(calls, options) {
        const answering = port.batch(calls, options)
        // Beside whoever asked, who waits no longer for it.
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

/** Undefined where one call at least was answered by the node itself, if only with a refusal of its own. */
function uselessness(replies: readonly RpcReply[]): RpcFailure | undefined {
  let first: RpcFailure | undefined
  for (const reply of replies) {
    if (reply.ok) return undefined
    const { failure } = reply
    if (failure.kind === 'rpc' && !isRateLimit(failure.code, failure.message)) return undefined
    first ??= failure
  }
  return first
}
