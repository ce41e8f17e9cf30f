import { type ChildProcess, spawn } from 'node:child_process'
import { TxlaneError } from '../../src/errors/base.js'
import { redactForeign } from '../../src/errors/redact.js'

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
