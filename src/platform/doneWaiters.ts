/** Promises that resolve once a condition holds. `check` tests it: call it after each change that may fulfil it. */
export function createDoneWaiters(isDone: () => boolean) {
  const waiters: (() => void)[] = []
  return {
    /** Resolves at once if the condition holds now. */
    add(): Promise<void> {
      if (isDone()) return Promise.resolve()
      return new Promise((resolve) => waiters.push(resolve))
    },
    check(): void {
      if (waiters.length === 0 || !isDone()) return
      for (const done of waiters.splice(0)) done()
    },
  }
}
