const READY = Promise.resolve()

/**
 * Runs a microtask later. Node's `queueMicrotask` makes an `AsyncResource` for each (lib/internal/process/task_queues.js),
 * which a promise's reaction does without. `run` must not throw: it would be an unhandled rejection.
 */
export function queueMicro(run: () => void): void {
  void READY.then(run)
}
