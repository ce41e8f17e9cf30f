import { TxlaneError } from '../../errors/base.js'
import type { Clock } from '../../platform/clock.js'
import type { SendOptions, TxRequest } from '../../types/index.js'
import { MS_MAX } from '../../validate/validate.js'
import type { Transaction } from './transaction.js'

/** The position of a new transaction, if it is not the end of the queue. */
export type AdmissionTarget = {
  /** The transaction takes over the nonce of this one. */
  readonly replaces?: Transaction | undefined
  /** The transaction follows the one with this id, as the next of a sequence. */
  readonly follows?: string | undefined
  /** Any account of a pool may send it. */
  readonly pooled?: true | undefined
}

/**
 * Callbacks of the caller that submitted a transaction; one of them is called, once. No promise is used,
 * because every `send` has one already.
 */
export type Caller = {
  /**
   * The transaction is in the store. If its id was in the store already, this is the transaction with that
   * id, with its outcome.
   */
  readonly persisted: (transaction: Transaction) => void
  readonly failed: (error: unknown) => void
}

type Add = (request: TxRequest, options: SendOptions, target: AdmissionTarget, caller: Caller) => void

/** The end of the queue. */
export const DEFAULT_TARGET: AdmissionTarget = {}

/** Promise form: resolves once the transaction is in the store. */
export function added(
  add: Add,
  request: TxRequest,
  options: SendOptions,
  target: AdmissionTarget = DEFAULT_TARGET,
): Promise<Transaction> {
  return new Promise((persisted, failed) => add(request, options, target, { persisted, failed }))
}

/** The time until which a call has to be answered, in clock milliseconds; undefined without a limit. */
export function untilOf(
  clock: Pick<Clock, 'now'>,
  { timeoutMs }: Pick<SendOptions, 'timeoutMs'>,
): number | undefined {
  return typeof timeoutMs === 'number' ? clock.now() + timeoutMs : undefined
}

/** A caller that waits for the storing of its transaction for a limited time. */
type TimedCaller = {
  readonly caller: Caller
  /**
   * The time ended before the lane had the request, and the caller was notified. The request is not sent any
   * more.
   */
  readonly isOver: boolean
  /** The lane has the request from now on. */
  handOver(): void
}

export function timedCaller(
  clock: Clock,
  { timeoutMs, id }: Pick<SendOptions, 'timeoutMs' | 'id'>,
  caller: Caller,
  withdraw: () => void,
): TimedCaller {
  if (timeoutMs === undefined) return { caller, isOver: false, handOver() {} }
  let isOver = false
  let isHandedOver = false
  const cancel = clock.setTimer(() => {
    isOver = true
    if (!isHandedOver) withdraw()
    caller.failed(timeOver(timeoutMs, { isTaken: isHandedOver, id }))
  }, timeoutMs)
  const unlessOver =
    <T>(notify: (value: T) => void) =>
    (value: T) => {
      cancel()
      if (!isOver) notify(value)
    }
  return {
    caller: { persisted: unlessOver(caller.persisted), failed: unlessOver(caller.failed) },
    get isOver() {
      return isOver
    },
    handOver() {
      isHandedOver = true
    },
  }
}

/** Resolves with the stored transaction, within the time limit. The lane has the request from the start. */
export function storedInTime(
  clock: Clock,
  options: Pick<SendOptions, 'timeoutMs' | 'id'>,
  work: (caller: Caller) => unknown,
): Promise<Transaction> {
  return new Promise((resolve, failed) => {
    const timed = timedCaller(clock, options, { persisted: resolve, failed }, () => {})
    timed.handOver()
    work(timed.caller)
  })
}

/** The time limit of one call. Each of its steps gets the remaining time. */
export type TimeLimit = {
  /** @throws `WAIT_TIMEOUT` if no time remains */
  left<options extends SendOptions>(options: options): options
  /** Rejects if the time ends before `left` was called. After that the step itself reports it. */
  untilBegun<T>(work: Promise<T>): Promise<T>
}

export function timeLimit(clock: Clock, { timeoutMs = -1, id }: SendOptions): TimeLimit {
  // The step rejects a value that is not a time.
  if (typeof timeoutMs !== 'number' || !(timeoutMs >= 0 && timeoutMs <= MS_MAX))
    return { left: (options) => options, untilBegun: (work) => work }
  const untilMs = clock.now() + timeoutMs
  const over = () => timeOver(timeoutMs, { isTaken: false, id })
  let isBegun = false
  return {
    left(options) {
      const leftMs = untilMs - clock.now()
      if (leftMs <= 0) throw over()
      isBegun = true
      return { ...options, timeoutMs: leftMs }
    },
    untilBegun(work) {
      return new Promise((resolve, reject) => {
        const cancel = clock.setTimer(() => {
          if (!isBegun) reject(over())
        }, timeoutMs)
        work.then(resolve, reject).finally(cancel)
      })
    },
  }
}

/** An id chosen by the caller may have been sent by an earlier call or an earlier process. */
function timeOver(
  timeoutMs: number,
  { isTaken, id }: { readonly isTaken: boolean; readonly id: string | undefined },
): TxlaneError {
  const what = isTaken ? 'The store may have it, and it goes on.' : 'It was not admitted.'
  const fate = isTaken || id !== undefined ? 'inFlight' : 'notExecuted'
  return new TxlaneError(`No answer after ${timeoutMs} ms. ${what}`, { code: 'WAIT_TIMEOUT', fate })
}
