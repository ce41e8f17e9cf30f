import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type Ended, ended } from './ended.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const { scripts } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8')) as {
  scripts: Readonly<Record<string, string>>
}

/**
 * Runs one of the package's scripts to its end, as npm does, but without npm, whose start takes half of a
 * short run.
 */
export function npmScript(
  script: string,
  args: readonly string[],
  environment: Record<string, string> = {},
): Promise<Ended> {
  const [program, ...given] = scripts[script]?.split(' ') ?? []
  if (program !== 'node') throw new Error(`The script "${script}" is no program of Node: ${program}.`)
  const child = spawn(process.execPath, [...given, ...args], {
    cwd: ROOT,
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  return ended(child)
}
