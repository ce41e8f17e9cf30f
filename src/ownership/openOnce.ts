import type { Clock } from '../platform/clock.js'

/** An object that the first call which needs it opens. */
export type OpenOnce<T> = {
  /**
   * Opens the object once, for all callers. A failure is not cached: the next call tries again, after a pause if it has failed
   * more than once. Calls during a try wait for the same try.
   */
  open(): Promise<T>
  /** The error of the last try, and the time of the first of its failures in a row, in wall time; undefined without one. */
  readonly failed: { readonly error: unknown; readonly sinceMs: number } | undefined
  /** The object that is open or being opened. */
  readonly started: Promise<T> | undefined
  /** Ends a pause: waiting callers get the error. Resolves with the open object, after the end of a running try. */
  close(closed: () => Error): Promise<T | undefined>
}

/** The pause after the second failure in a row, doubled up to the maximum. It bounds the load on a node for any number of callers. */
const PAUSE_MS = 250
const PAUSE_MS_MAX = 2_000

export function createOpenOnce<T>(openIt: () => Promise<T>, clock: Clock): OpenOnce<T> {
  let begun: Promise<T> | undefined
  let notBeforeMs = Number.NEGATIVE_INFINITY
  let pauseMs = 0
  let failed: OpenOnce<T>['failed']
  let endPause = (_error: Error) => {}

  function pause(ms: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const cancel = clock.setTimer(resolve, ms)
      endPause = (error) => {
        cancel()
        reject(error)
      }
    })
  }

  function begin(): Promise<T> {
    const leftMs = notBeforeMs - clock.now()
    return leftMs > 0 ? pause(leftMs).then(openIt) : openIt()
  }

  return {
    open() {
      begun ??= begin().then(
        (opened) => {
          failed = undefined
          return opened
        },
        (error: unknown) => {
          begun = undefined
          failed = { error, sinceMs: failed?.sinceMs ?? clock.wallNow() }
          notBeforeMs = clock.now() + pauseMs
          pauseMs = Math.min(PAUSE_MS_MAX, Math.max(PAUSE_MS, 2 * pauseMs))
          throw error
        },
      )
      return begun
    },
    get failed() {
      return failed
    },
    get started() {
      return begun
    },
    async close(closed) {
      endPause(closed())
      return begun?.catch(() => undefined)
    },
  }
}
