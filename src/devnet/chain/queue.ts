/** Runs one task at a time, in the order given. A task that fails does not stop those behind it. */
export type Queue = { run<t>(task: () => Promise<t>): Promise<t> }

/**
 * Steps, seals, reorganisations and direct writes to the child share one queue, so that a flashblock never starts
 * while the one before is still being built.
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
