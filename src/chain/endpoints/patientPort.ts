import type { Clock } from '../../platform/clock.js'
import type { StopSignal } from '../../platform/stopSignal.js'
import { isRateLimit } from '../../rpc/errors.js'
import { derivedPort } from '../../rpc/limitBatches.js'
import type { Port, RpcCall, RpcFailure, RpcReply } from '../../rpc/port.js'

/** Until when a lane that opens asks again, and what ends that earlier. */
export type Patience = {
  readonly clock: Clock
  /** Clock milliseconds. */
  readonly untilMs: number
  readonly stop: Pick<StopSignal, 'stopped' | 'listen'>
}

const PAUSE_MS = 250
const PAUSE_MS_MAX = 2_000
/** An answer that can be done without is asked for so often. */
const OPTIONAL_TRIES = 3
// Of the statuses that say that the request is at fault, those that do not mean it: timeout, too early, too often.
const PASSING_STATUSES: ReadonlySet<number> = new Set([408, 425, 429])

/**
 * The port for the reads with which a lane opens. A call that was lost, has no answer or was refused for the rate is
 * asked again by itself, with pauses, until it is answered or the patience ends; what was answered is not asked again.
 *
 * `isOptional`: calls whose answer can be done without. `onFailure` is called with each failure before it is asked again.
 */
export function patientPort(
  port: Port,
  patience: Patience,
  { isOptional = () => false, onFailure = () => {} }: PatientOptions = {},
): Port {
  const { clock, untilMs, stop } = patience
  return derivedPort(port, async (calls, options) => {
    const replies = new Array<RpcReply | undefined>(calls.length).fill(undefined)
    let open = [...calls.keys()]
    // Rounds in a row in which no call was answered.
    let inVain = 0
    for (let tries = 1; ; tries++) {
      const asked = open
      const answers = await port.batch(
        asked.map((index) => calls[index] as RpcCall),
        // A caller waits.
        { ...options, restMsMax: PAUSE_MS_MAX },
      )
      for (const [at, index] of asked.entries()) replies[index] = answers[at]
      open = asked.filter((index) => {
        const failure = passingFailure(replies[index])
        return failure !== undefined && (tries < OPTIONAL_TRIES || !isOptional(calls[index] as RpcCall))
      })
      inVain = open.length < asked.length ? 0 : inVain + 1
      const failures = open.flatMap((index) => passingFailure(replies[index]) ?? [])
      for (const failure of failures) onFailure(failure)
      const leftMs = untilMs - clock.now()
      if (failures.length === 0 || leftMs <= 0 || stop.stopped()) return replies as RpcReply[]
      await pause(patience, Math.min(pauseAfter(inVain, failures), leftMs))
      if (stop.stopped()) return replies as RpcReply[]
    }
  })
}

/** Ends early when the patience is stopped, so that no timer outlives what it was for. */
export function pause({ clock, stop }: Patience, ms: number): Promise<void> {
  return new Promise((resolve) => {
    if (stop.stopped()) return resolve()
    const cancel = clock.setTimer(end, ms)
    const off = stop.listen(end)
    function end(): void {
      cancel()
      off()
      resolve()
    }
  })
}

type PatientOptions = {
  readonly isOptional?: (call: RpcCall) => boolean
  readonly onFailure?: (failure: RpcFailure) => void
}

/** An endpoint that asks to be left alone for longer is asked again all the same: a caller waits. */
function pauseAfter(inVain: number, failures: readonly RpcFailure[]): number {
  const asked = Math.max(...failures.map((one) => (one.kind === 'http' ? (one.retryAfterMs ?? 0) : 0)))
  return Math.min(PAUSE_MS_MAX, Math.max(PAUSE_MS * 2 ** Math.min(Math.max(0, inVain - 1), 3), asked))
}

/** A failure after which the same call may be answered; undefined for an answer, and for a refusal that stays. */
function passingFailure(reply: RpcReply | undefined): RpcFailure | undefined {
  if (reply === undefined || reply.ok) return undefined
  const { failure } = reply
  switch (failure.kind) {
    case 'rpc':
      return isRateLimit(failure.code, failure.message) ? failure : undefined
    case 'http':
      return isPassingStatus(failure.status) ? failure : undefined
    case 'malformed':
      return failure.cut ? undefined : failure
    case 'network':
    case 'timeout':
    case 'custom':
      return failure
    case 'aborted':
      return undefined
    default:
      return failure satisfies never
  }
}

export function isPassingStatus(status: number): boolean {
  return status < 400 || status >= 500 || PASSING_STATUSES.has(status)
}
