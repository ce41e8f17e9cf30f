import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { bundledChild } from './bundleChild.js'
import type { Ended } from './ended.js'

const ROOT = new URL('../..', import.meta.url)

// Vitest does not wait for a test that timed out, and its child processes must not outlive the run.
const alive = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of alive) child.kill('SIGKILL')
})

/** An example in a child process. */
export type ExampleProcess = AsyncDisposable & {
  /**
   * The first output line that matches, already written or yet to come. Rejects with the whole output if the
   * process ends first.
   */
  line(matches: RegExp): Promise<RegExpMatchArray>
  kill(signal: NodeJS.Signals): void
  readonly ended: Promise<Ended>
}

/**
 * `file` is a path below examples/. The process gets only the given environment and the variables that any
 * process needs.
 */
export function startExample(
  file: string,
  environment: Readonly<Record<string, string>>,
  ...args: readonly string[]
): ExampleProcess {
  return startProgram(bundledChild(new URL(`examples/${file}`, ROOT)), environment, args)
}

/** The same for a program that is already bundled. */
export function startProgram(
  program: string,
  environment: Readonly<Record<string, string>>,
  args: readonly string[] = [],
): ExampleProcess {
  const { PATH = '', HOME = '' } = process.env
  const child = spawn(process.execPath, [program, ...args], {
    cwd: fileURLToPath(ROOT),
    env: { PATH, HOME, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  alive.add(child)
  const lines: string[] = []
  const watchers = new Set<() => void>()
  let err = ''
  let over = false
  const wake = () => {
    for (const watcher of watchers) watcher()
  }
  createInterface({ input: child.stdout }).on('line', (line) => {
    lines.push(line)
    wake()
  })
  child.stderr.on('data', (chunk: Buffer) => {
    err += chunk.toString()
  })
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => {
      over = true
      alive.delete(child)
      resolve({ code, out: lines.join('\n'), err })
      wake()
    })
  })

  return {
    ended,
    kill: (signal) => void child.kill(signal),
    line: (matches) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const found = lines.map((line) => line.match(matches)).find((match) => match !== null)
          if (found) resolve(found)
          else if (over)
            reject(new Error(`${program} ended without ${matches}:\n${lines.join('\n')}\n${err}`))
          else return
          watchers.delete(look)
        }
        watchers.add(look)
        look()
      }),
    async [Symbol.asyncDispose]() {
      if (!over) child.kill('SIGKILL')
      await ended
    },
  }
}

/** A child process starts slowly on a busy machine. */
export const EXAMPLE_TIMEOUT_MS = 300_000

/** The key of the devnet's first account. It is public. */
export const DEVNET_KEY = '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80'
