import { type ChildProcess, type ForkOptions, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const RUN_BUNDLED = fileURLToPath(new URL('../../scripts/runBundled.mjs', import.meta.url))

/**
 * Runs a program in a child process as plain JavaScript, as users run the package. A TypeScript loader keeps
 * the name of each function, which costs time at each function creation, and costs the peers of the bench
 * nothing.
 */
export function forkBuilt(
  program: URL,
  args: readonly string[] = [],
  options: ForkOptions = {},
): ChildProcess {
  return fork(RUN_BUNDLED, [fileURLToPath(program), ...args], options)
}
