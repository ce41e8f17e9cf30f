import { TxlaneError } from '../../errors/base.js'

/** Promises for the moment when everything is done; looked at after each tick and on request. */
export function createDrains(isDrained: () => boolean) {
  let waiters: (() => void)[] = []
  function settle(): void {
    const all = waiters
    waiters = []
    for (const done of all) done()
  }
  return {
    add(): Promise<void> {
      if (isDrained()) return Promise.resolve()
      return new Promise((resolve) => waiters.push(resolve))
    },
    check(): void {
      if (waiters.length > 0 && isDrained()) settle()
    },
  }
}

/** Said of the lane as a whole: what it had in flight may still execute. */
export function closedLaneError(): TxlaneError {
  return new TxlaneError('The sender was closed. What was journaled may still execute.', {
    code: 'CLOSED',
    fate: 'inFlight',
  })
}
