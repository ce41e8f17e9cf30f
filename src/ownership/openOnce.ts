import type { Clock } from '../platform/clock.js'

/** Something that is opened by the first call that needs it. */
export type OpenOnce<T> = {
  /**
   * Opens it once, for all who ask. What failed is not kept: the next call tries anew, after a pause where it has failed
   * more than once. Those who ask meanwhile wait for the same try.
   */
  open(): Promise<T>
  /** Why the last try failed, and since when none has succeeded, in wall time; undefined before that, and once one has. */
  readonly failed: { readonly error: unknown; readonly sinceMs: number } | undefined
  /** What is open, or about to be. */
  readonly started: Promise<T> | undefined
  /** Ends a pause: those who wait get the error. Resolves with what is open, after the end of a try under way. */
  close(closed: () => Error): Promise<T | undefined>
}

/** From the end of the second failure in a row, doubled up to the last: however many ask, a node is asked no more often. */
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
