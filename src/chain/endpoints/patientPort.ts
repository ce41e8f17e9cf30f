import { isTxlaneError, type TxlaneError } from '../../errors/base.js'
import type { Clock } from '../../platform/clock.js'
import { onAbort } from '../../platform/onAbort.js'
import type { RpcError } from '../../rpc/errors.js'
import { derivedPort } from '../../rpc/limitBatches.js'
import { isBusy } from '../../rpc/limits.js'
import type { Port, RpcCall, RpcFailure, RpcReply } from '../../rpc/port.js'

/** The time until which an opening lane repeats its reads, and the signal that ends this earlier. */
export type Patience = {
  readonly clock: Clock
  /** The end of the patience, in clock milliseconds. */
  readonly untilMs: number
  readonly stop: AbortSignal
}

const PAUSE_MS = 250
const PAUSE_MS_MAX = 2_000
/** The number of tries for an optional answer. */
const OPTIONAL_TRIES = 3
// The 4xx statuses that do not mean a bad request: timeout, too early, too many requests.
const PASSING_STATUSES: ReadonlySet<number> = new Set([408, 425, 429])

/**
 * The port for the reads that open a lane. A call that was lost, has no answer or was refused for its rate is repeated by
 * itself, with pauses, until it is answered or the patience ends. Answered calls are not repeated.
 *
 * `isOptional`: calls whose answer is not needed. `onFailure` is called with each failure before the call is repeated.
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
    // Rounds in a row without an answer to any call.
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
      if (failures.length === 0 || leftMs <= 0 || stop.aborted) return replies as RpcReply[]
      await pause(patience, Math.min(pauseAfter(inVain, failures), leftMs))
      if (stop.aborted) return replies as RpcReply[]
    }
  })
}

/** A stop of the patience ends the pause, so that no timer outlives its purpose. */
function pause({ clock, stop }: Patience, ms: number): Promise<void> {
  return new Promise((resolve) => {
    if (stop.aborted) return resolve()
    const cancel = clock.setTimer(end, ms)
    const off = onAbort(stop, end)
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

/** A longer pause that the endpoint asks for is cut short, because a caller waits. */
function pauseAfter(inVain: number, failures: readonly RpcFailure[]): number {
  const asked = Math.max(...failures.map((one) => (one.kind === 'http' ? (one.retryAfterMs ?? 0) : 0)))
  return Math.min(PAUSE_MS_MAX, Math.max(PAUSE_MS * 2 ** Math.min(Math.max(0, inVain - 1), 3), asked))
}

/** A failure after which the same call may succeed; undefined for an answer, and for a lasting refusal. */
function passingFailure(reply: RpcReply | undefined): RpcFailure | undefined {
  if (reply === undefined || reply.ok) return undefined
  const { failure } = reply
  switch (failure.kind) {
    case 'rpc':
      return isBusy(failure) ? failure : undefined
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

function isPassingStatus(status: number): boolean {
  return status < 400 || status >= 500 || PASSING_STATUSES.has(status)
}

const TRIES = 3

/**
 * Makes a read up to three times if an endpoint refuses it in words, which may be temporary ("header not found").
 * `patientPort` repeats calls without an answer.
 */
export async function retryRead<t>(read: () => Promise<t>, patience: Patience): Promise<t> {
  const { clock, untilMs, stop } = patience
  for (let tried = 1; ; tried += 1) {
    try {
      return await read()
    } catch (error) {
      if (tried === TRIES || stop.aborted || clock.now() >= untilMs || !isWorthAsking(error)) throw error
      await pause(patience, PAUSE_MS * tried)
    }
  }
}

/** A retry does not help against a wrong chain or a refused key. */
export function isWorthAsking(error: unknown): boolean {
  if (!isTxlaneError(error) || (error.code !== 'REJECTED' && error.code !== 'UNREACHABLE')) return false
  const { status } = wordOf(error)
  return status === undefined || isPassingStatus(status)
}

/** The words of the endpoint, in the error or in its cause. */
function wordOf(error: unknown): Partial<RpcError> {
  const { cause } = error as TxlaneError
  return isTxlaneError(cause) ? wordOf(cause) : (error as Partial<RpcError>)
}
