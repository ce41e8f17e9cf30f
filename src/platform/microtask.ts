const READY = Promise.resolve()

/**
 * Runs `run` one microtask later. Node's `queueMicrotask` creates an `AsyncResource` for each call
 * (lib/internal/process/task_queues.js); a promise reaction does not. `run` must not throw: the error would
 * become an unhandled rejection.
 */
export function queueMicro(run: () => void): void {
  void READY.then(run)
}
