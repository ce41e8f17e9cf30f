import { TxlaneError } from '../../errors/base.js'
import type { Clock } from '../../platform/clock.js'
import type { SendOptions } from '../../types/index.js'
import { MS_MAX } from '../../validate/validate.js'
import type { Caller } from './caller.js'
import type { Transaction } from './transaction.js'

/** When a call has to be answered, in clock milliseconds; undefined where it may take as long as it takes. */
export function untilOf(
  clock: Pick<Clock, 'now'>,
  { timeoutMs }: Pick<SendOptions, 'timeoutMs'>,
): number | undefined {
  return typeof timeoutMs === 'number' ? clock.now() + timeoutMs : undefined
}

/** A caller who waits for so long that the transaction is kept, and no longer. */
export type TimedCaller = {
  readonly caller: Caller
  /** It was told that the time is over before the lane had its request: that is not sent any more. */
  readonly isOver: boolean
  /** From now on the lane has its request. */
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
    <T>(tell: (told: T) => void) =>
    (told: T) => {
      cancel()
      if (!isOver) tell(told)
    }
  return {
    caller: { kept: unlessOver(caller.kept), failed: unlessOver(caller.failed) },
    get isOver() {
      return isOver
    },
    handOver() {
      isHandedOver = true
    },
  }
}

/** What is kept in time. The lane has the request from the first moment on. */
export function kept(
  clock: Clock,
  options: Pick<SendOptions, 'timeoutMs' | 'id'>,
  work: (caller: Caller) => unknown,
): Promise<Transaction> {
  return new Promise((resolve, failed) => {
    const timed = timedCaller(clock, options, { kept: resolve, failed }, () => {})
    timed.handOver()
    work(timed.caller)
  })
}

/** The time of one call, of which each of its steps gets what is left. */
export type TimeLimit = {
  /** @throws `WAIT_TIMEOUT` where nothing is left */
  left<options extends SendOptions>(options: options): options
  /** Rejects when the time is over before `left` was asked for: from then on the step itself tells. */
  untilBegun<T>(work: Promise<T>): Promise<T>
}

export function timeLimit(clock: Clock, { timeoutMs = -1, id }: SendOptions): TimeLimit {
  // What cannot be a time is refused by the step.
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

/** By an id of the caller's an earlier call, or an earlier life, may have sent it. */
function timeOver(
  timeoutMs: number,
  { isTaken, id }: { readonly isTaken: boolean; readonly id: string | undefined },
): TxlaneError {
  const what = isTaken ? 'The store may have it, and it goes on.' : 'It was not taken on.'
  const fate = isTaken || id !== undefined ? 'inFlight' : 'notExecuted'
  return new TxlaneError(`No answer after ${timeoutMs} ms. ${what}`, { code: 'WAIT_TIMEOUT', fate })
}
