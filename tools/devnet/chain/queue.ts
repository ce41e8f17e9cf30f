/** Runs one task at a time, in the order of the calls. A failed task does not stop the next ones. */
export type Queue = { run<t>(task: () => Promise<t>): Promise<t> }

/**
 * Steps, seals, reorganisations and direct writes to anvil share one queue, so that a flashblock never starts
 * while the previous one is still being built.
 */
export function createQueue(): Queue {
  let last: Promise<unknown> = Promise.resolve()
  return {
    run(task) {
      const result = last.then(task, task)
      last = result.catch(() => undefined)
      return result
    },
  }
}
