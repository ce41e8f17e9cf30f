import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { networkInterfaces } from 'node:os'
import { describe, expect, test } from 'vitest'
import { startDevnet } from '../../tools/devnet/index.js'
import { bundledChild } from '../support/bundleChild.js'
import { rpc } from './devnetSupport.js'

/** True if a process listens there. */
function listens(url: string, host = new URL(url).hostname): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(Number(new URL(url).port), host)
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}

/** Resolves when no process listens there any more; otherwise the test times out. */
async function silent(url: string): Promise<void> {
  while (await listens(url)) await new Promise(setImmediate)
}

describe('the child of the devnet', () => {
  test.each(['SIGKILL', 'SIGTERM', 'SIGINT'] as const)('ends when its parent dies by %s', async (signal) => {
    const program = bundledChild(new URL('devnetParent.ts', import.meta.url))
    const parent = spawn(process.execPath, [program], { stdio: ['ignore', 'pipe', 'inherit'] })
    const [printed] = (await once(parent.stdout!, 'data')) as [Buffer]
    const url = printed.toString().trim()
    expect(await listens(url)).toBe(true)
    parent.kill(signal)
    await once(parent, 'exit')
    await silent(url)
  })

  test('ends with stop, as does the gateway, and a second stop has no effect', async () => {
    const devnet = await startDevnet()
    await rpc(devnet.url, 'eth_chainId')
    await devnet.stop()
    await devnet.stop()
    expect(await listens(devnet.anvilUrl)).toBe(false)
    expect(await listens(devnet.url)).toBe(false)
  })

  test('is started from the given path, and an error for a missing binary names the package to install', async () => {
    await expect(startDevnet({ anvilPath: '/nowhere/anvil' })).rejects.toMatchObject({
      code: 'UNSUPPORTED',
      message: expect.stringContaining('npm install --save-dev @foundry-rs/anvil'),
    })
  })

  test('that ends at once is reported with its output', async () => {
    await expect(startDevnet({ anvilPath: process.execPath })).rejects.toMatchObject({
      code: 'UNSUPPORTED',
      details: expect.stringContaining('bad option'),
    })
  })
})

describe('the gateway', () => {
  test('listens only on loopback', async () => {
    await using devnet = await startDevnet({ mining: 'manual' })
    const outside = Object.values(networkInterfaces())
      .flatMap((addresses) => addresses ?? [])
      .filter(({ internal, family }) => !internal && family === 'IPv4')
    for (const { address } of outside) {
      expect(await listens(devnet.url, address)).toBe(false)
      expect(await listens(devnet.anvilUrl, address)).toBe(false)
    }
    expect(await listens(devnet.url)).toBe(true)
  })

  test('uses the given port, and a port in use is an error that leaves no process running', async () => {
    const devnet = await startDevnet({ mining: 'manual' })
    const port = Number(new URL(devnet.url).port)
    await expect(startDevnet({ mining: 'manual', port })).rejects.toMatchObject({ code: 'EADDRINUSE' })
    await devnet.stop()
    await using again = await startDevnet({ mining: 'manual', port })
    expect(again.url).toBe(devnet.url)
  })
})
