import { reportError } from './reportError.js'

/** A question that is asked once at a time: asked again while it is under way, it is left out. */
export type OneAtATime = {
  readonly busy: boolean
  /** What fails is reported to the lane. */
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
