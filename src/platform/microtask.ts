const READY = Promise.resolve()

/**
 * Runs `run` one microtask later. Node's `queueMicrotask` creates an `AsyncResource` for each call
 * (lib/internal/process/task_queues.js); a promise reaction does not. `run` must not throw: the error would
 * become an unhandled rejection.
 */
export function queueMicro(run: () => void): void {
  void READY.then(run)
}

/** Gives all items that are added in one turn to `post` together, one microtask after the first of them. */
export function createTurnBatch<T>(post: (items: readonly T[]) => void): (item: T) => void {
  let items: T[] = []
  return (item) => {
    items.push(item)
    if (items.length > 1) return
    queueMicro(() => {
      const all = items
      items = []
      post(all)
    })
  }
}
