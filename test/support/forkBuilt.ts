import { type ChildProcess, type ForkOptions, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const RUN_BUNDLED = fileURLToPath(new URL('../../scripts/runBundled.mjs', import.meta.url))

/**
 * A program in a process of its own, as plain JavaScript: that is how the package is used. A loader keeps the name of
 * each function, which costs wherever one is made, and costs the peers of the bench nothing.
 */
export function forkBuilt(
  program: URL,
  args: readonly string[] = [],
  options: ForkOptions = {},
): ChildProcess {
  return fork(RUN_BUNDLED, [fileURLToPath(program), ...args], options)
}
