import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { delimiter, dirname, join } from 'node:path'
import { TxlaneError } from '../../src/errors/base.js'
import { redactForeign } from '../../src/errors/redact.js'

const BINARY = process.platform === 'win32' ? 'anvil.exe' : 'anvil'

/**
 * Finds anvil: the given path, the environment variable `ANVIL_PATH`, the npm package `@foundry-rs/anvil`,
 * then `PATH`. The package comes before `PATH`, because a lock file pins the version that a project was
 * tested with.
 *
 * @throws TxlaneError `UNSUPPORTED` when anvil is not found; the error says how to install it.
 */
export function findAnvil(given: string | undefined, env: NodeJS.ProcessEnv = process.env): string {
  const named = given ?? env.ANVIL_PATH
  if (named !== undefined) {
    if (existsSync(named)) return named
    throw missing(`There is no file at the given path of anvil: ${named}.`)
  }
  const found = fromPackage() ?? fromPath(env.PATH ?? '')
  if (found === undefined) throw missing('The devnet needs anvil, but anvil was not found.')
  return found
}

function missing(message: string): TxlaneError {
  return new TxlaneError(message, {
    code: 'UNSUPPORTED',
    fate: 'notExecuted',
    metaMessages: [
      'Install it: npm install --save-dev @foundry-rs/anvil',
      'or give its path: startDevnet({ anvilPath }), or the environment variable ANVIL_PATH.',
    ],
  })
}

function fromPackage(): string | undefined {
  // `import.meta.url` is absent in the CommonJS build; the working directory is the fallback.
  const bases = [import.meta.url, join(process.cwd(), 'package.json')].filter((base) => base !== undefined)
  for (const base of bases) {
    try {
      const wrapper = createRequire(base).resolve('@foundry-rs/anvil/package.json')
      // The package is a launcher; the binary is in a separate package for each platform. Starting the binary
      // directly saves a Node process, and killing the launcher would leave the node running.
      const arch = process.arch === 'x64' ? 'amd64' : process.arch
      const platform = `@foundry-rs/anvil-${process.platform}-${arch}/package.json`
      const binary = join(dirname(createRequire(wrapper).resolve(platform)), 'bin', BINARY)
      if (existsSync(binary)) return binary
    } catch {
      // The package is not installed relative to this base.
    }
  }
  return undefined
}

function fromPath(path: string): string | undefined {
  return path
    .split(delimiter)
    .filter((folder) => folder !== '' && !folder.includes('node_modules'))
    .map((folder) => join(folder, BINARY))
    .find((file) => existsSync(file))
}

export type AnvilProcess = {
  /** `http://127.0.0.1:port` of anvil itself. Requests to it bypass the gateway. */
  readonly url: string
  readonly pid: number | undefined
  /** Resolves when the child process has ended for any reason. */
  readonly ended: Promise<void>
  stop(): Promise<void>
}

// Kills anvil when standard input ends. The kernel closes standard input however the parent ends (exit,
// signal, SIGKILL, crash). No signal handler is needed, so the devnet does not change how the host program
// ends. Every Linux and macOS has a shell, which starts in 2 ms. Descriptor 3 carries the pipe because the
// standard input of a background job is /dev/null.
const WATCHDOG =
  'exec 3<&0; "$@" </dev/null 3<&- & p=$!; (cat <&3 >/dev/null; kill -9 $p 2>/dev/null) & wait $p'

const STDERR_KEPT = 2_000

/**
 * Starts anvil on a free loopback port and waits until it listens.
 *
 * @throws TxlaneError `UNSUPPORTED` when anvil ends before it listens; the error carries its standard error.
 */
export async function startAnvil(binary: string, args: readonly string[]): Promise<AnvilProcess> {
  const all = ['--host', '127.0.0.1', '--port', '0', ...args]
  const child =
    process.platform === 'win32'
      ? spawn(binary, all, { stdio: ['pipe', 'pipe', 'pipe'] })
      : spawn('/bin/sh', ['-c', WATCHDOG, 'anvil', binary, ...all], { stdio: ['pipe', 'pipe', 'pipe'] })
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => resolve())
    child.once('error', () => resolve())
  })
  const end = () => child.kill('SIGKILL')
  if (process.platform === 'win32') process.once('exit', end)
  try {
    const url = await listening(child)
    await quiet(url)
    return {
      url,
      pid: child.pid,
      ended,
      async stop() {
        process.removeListener('exit', end)
        child.stdin?.destroy()
        if (process.platform === 'win32') end()
        await ended
      },
    }
  } catch (error) {
    child.stdin?.destroy()
    end()
    throw error
  }
}

/**
 * Turns off anvil's log, which the devnet does not use. A log line for each call costs anvil, and this
 * process, a tenth of a burst (measured).
 */
async function quiet(url: string): Promise<void> {
  const call = { jsonrpc: '2.0', id: 1, method: 'anvil_setLoggingEnabled', params: [false] }
  const headers = { 'content-type': 'application/json' }
  const init = { method: 'POST', headers, body: JSON.stringify(call) }
  // An anvil without this method keeps logging. If anvil has ended, the next call reports it.
  await fetch(url, init).then(
    (response) => response.text(),
    () => undefined,
  )
}

function listening(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let out = ''
    let errors = ''
    child.stderr?.on('data', (chunk: Buffer) => {
      errors = `${errors}${chunk.toString()}`.slice(-STDERR_KEPT)
    })
    const { stdout } = child
    const read = (chunk: Buffer) => {
      out += chunk.toString()
      const address = /Listening on (127\.0\.0\.1:\d+)/.exec(out)?.[1]
      if (address === undefined) return
      resolve(`http://${address}`)
      // Further output is drained and discarded, so that the pipe never fills.
      stdout?.off('data', read).resume()
    }
    stdout?.on('data', read)
    const failed = (cause?: unknown) =>
      reject(
        new TxlaneError('anvil ended before it listened.', {
          code: 'UNSUPPORTED',
          fate: 'notExecuted',
          cause,
          details: redactForeign(errors.trim()),
        }),
      )
    child.once('error', failed)
    child.once('exit', () => failed())
  })
}
