import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createPlainRpc, type PlainRpc } from '../../src/cli/demo/plainRpc.js'
import { systemClock } from '../../src/clock.js'
import { freePort } from '../support/freePort.js'
import { pause } from '../support/pause.js'
import type { NodeCommand } from './find.js'

export type RunningNode = AsyncDisposable & { readonly url: string; readonly rpc: PlainRpc }

const START_TIMEOUT_MS = 60_000
const STOP_TIMEOUT_MS = 5_000
const KEPT = 2_000
const ENVIRONMENT = { HARDHAT_DISABLE_TELEMETRY_PROMPT: 'true', CI: 'true' }

/** Starts a node on a free port of loopback and waits until it answers. @throws Error with what it wrote */
export async function startNode(command: NodeCommand, more: readonly string[]): Promise<RunningNode> {
  const port = await freePort()
  const { file, args, cwd } = command(port)
  const child = spawn(file, [...args, ...more], {
    cwd,
    env: { ...process.env, ...ENVIRONMENT },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const end = () => void child.kill('SIGKILL')
  process.once('exit', end)
  const url = `http://127.0.0.1:${port}`
  const stop = async () => {
    process.removeListener('exit', end)
    await stopped(child)
  }
  try {
    await answers(child, url)
    return { url, rpc: createPlainRpc(url), [Symbol.asyncDispose]: stop }
  } catch (error) {
    await stop()
    throw error
  }
}

async function answers(child: ChildProcess, url: string): Promise<void> {
  let wrote = ''
  for (const stream of [child.stdout, child.stderr]) {
    // Read to the end, so that the pipe never fills.
    stream?.on('data', (chunk: Buffer) => {
      wrote = `${wrote}${chunk.toString()}`.slice(-KEPT)
    })
  }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_chainId', params: [] })
  const ask = () => fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  for (const until = systemClock.now() + START_TIMEOUT_MS; ; await pause(100)) {
    if (child.exitCode !== null || systemClock.now() > until)
      throw new Error(`The node did not start: ${wrote.trim()}`)
    const isUp = await ask().then(
      async (response) => response.ok && (await response.text()).includes('0x'),
      () => false,
    )
    if (isUp) return
  }
}

/** By its own process, politely first: geth closes its database. */
async function stopped(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  await Promise.race([exited, pause(STOP_TIMEOUT_MS)])
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGKILL')
  await exited
}
