import { reportError } from './reportError.js'

/** Runs a task at most once at a time: a call while the task is running does nothing. */
export type OneAtATime = {
  readonly busy: boolean
  /** Reports an error of the task to the lane. */
  run(task: () => Promise<void>): void
}

export function createOneAtATime(context: Parameters<typeof reportError>[0]): OneAtATime {
  let busy = false
  return {
    get busy() {
      return busy
    },
    run(task) {
      if (busy) return
      busy = true
      void task()
        .catch((error: unknown) => reportError(context, error))
        .finally(() => {
          busy = false
        })
    },
  }
}
