import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { systemClock } from '../../../src/platform/clock.js'
import { createPlainRpc, type PlainRpc } from '../../demo/plainRpc.js'
import { freePort } from '../../support/freePort.js'
import { pause } from '../../support/pause.js'
import type { NodeCommand } from '../find/nodeCommand.js'
import { within } from '../tools/within.js'

/** The process of a node that answers requests. */
export type NodeProcess = AsyncDisposable & {
  readonly url: string
  readonly rpc: PlainRpc
  /** Ends it and starts it again at the same port. With `SIGTERM` the node can close its database. */
  restart(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>
}

const START_TIMEOUT_MS = 60_000
const STOP_TIMEOUT_MS = 10_000
const KEPT = 2_000
const ENVIRONMENT = { HARDHAT_DISABLE_TELEMETRY_PROMPT: 'true', CI: 'true' }

/** Starts a node on a free loopback port and waits until it answers. @throws Error with its output */
export async function startNodeProcess(command: NodeCommand, more: readonly string[]): Promise<NodeProcess> {
  const port = await freePort()
  let child = await startChild(command, port, more)
  const url = urlOf(port)
  return {
    url,
    rpc: createPlainRpc(url),
    async restart(signal) {
      await ended(child, signal)
      child = await startChild(command, port, more)
    },
    [Symbol.asyncDispose]: () => ended(child, 'SIGKILL'),
  }
}

const urlOf = (port: number) => `http://127.0.0.1:${port}`

async function startChild(
  command: NodeCommand,
  port: number,
  more: readonly string[],
): Promise<ChildProcess> {
  const { file, args, cwd } = command(port)
  const child = spawn(file, [...args, ...more], {
    cwd,
    env: { ...process.env, ...ENVIRONMENT },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const end = () => void child.kill('SIGKILL')
  process.once('exit', end)
  child.once('exit', () => process.removeListener('exit', end))
  try {
    await answers(child, urlOf(port))
    return child
  } catch (error) {
    await ended(child, 'SIGKILL')
    throw error
  }
}

async function answers(child: ChildProcess, url: string): Promise<void> {
  let wrote = ''
  for (const stream of [child.stdout, child.stderr]) {
    // Read continuously, so that the pipe never fills.
    stream?.on('data', (chunk: Buffer) => {
      wrote = `${wrote}${chunk.toString()}`.slice(-KEPT)
    })
  }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_chainId', params: [] })
  const ask = () => fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  for (const until = systemClock.now() + START_TIMEOUT_MS; ; await pause(50)) {
    if (child.exitCode !== null || child.signalCode !== null || systemClock.now() > until)
      throw new Error(`The node did not start: ${wrote.trim()}`)
    const isUp = await ask().then(
      async (response) => response.ok && (await response.text()).includes('0x'),
      () => false,
    )
    if (isUp) return
  }
}

/** With `SIGTERM` the node closes its database, if it does so in time. */
async function ended(child: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill(signal)
  await within(STOP_TIMEOUT_MS, 'the end of the node', exited).catch(() => {
    child.kill('SIGKILL')
    return exited
  })
}
