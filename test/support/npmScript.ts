import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { type Ended, ended } from './ended.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** Runs one of the package's scripts to its end, as a user does. */
export function npmScript(
  script: string,
  args: readonly string[],
  environment: Record<string, string> = {},
): Promise<Ended> {
  const child = spawn('npm', ['run', '--silent', script, '--', ...args], {
    cwd: ROOT,
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  return ended(child)
}
