import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { bundledChild } from './bundleChild.js'
import type { Ended } from './ended.js'

const ROOT = new URL('../..', import.meta.url)

// A test that times out is not waited for, and what it started must not outlive the run.
const alive = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of alive) child.kill('SIGKILL')
})

/** An example as a process of its own. */
export type ExampleProcess = AsyncDisposable & {
  /** The first line of its output that matches, written or yet to come. Rejects with all it wrote when it ends before. */
  line(matches: RegExp): Promise<RegExpMatchArray>
  kill(signal: NodeJS.Signals): void
  readonly ended: Promise<Ended>
}

/** `file`: below examples/. The environment is what is given, and no more than a process needs. */
export function startExample(
  file: string,
  environment: Readonly<Record<string, string>>,
  ...args: readonly string[]
): ExampleProcess {
  return startProgram(bundledChild(new URL(`examples/${file}`, ROOT)), environment, args)
}

/** The same of a program that is bundled already. */
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

/** A process of its own takes a while to start where others compute. */
export const EXAMPLE_TIMEOUT_MS = 300_000

/** Of the devnet's first account. Everybody knows it. */
export const DEVNET_KEY = '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80'
