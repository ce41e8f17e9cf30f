import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createWalletClient, http } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createSender, memoryStore } from '../../src/index.js'
import { accountKey } from '../../tools/devnet/accounts.js'
import { type Devnet, startDevnet } from '../../tools/devnet/index.js'
import { bundledChild } from '../support/bundleChild.js'
import { ended } from '../support/ended.js'
import { type ProxiedCall, startNodeProxy } from '../support/nodeProxy.js'

const program = bundledChild(new URL('../../tools/cli/main.ts', import.meta.url))
let devnet: Devnet
beforeAll(async () => {
  devnet = await startDevnet({ blockTimeMs: 400, baseFee: 'constant' })
})
afterAll(() => devnet.stop())

/** A node that refuses two of three requests for their rate, once a lane probes it. */
async function openLimited() {
  let requests = 0
  let probed = () => {}
  const isProbed = new Promise<void>((resolve) => {
    probed = resolve
  })
  const isProbe = ({ method, params }: ProxiedCall) =>
    method === 'eth_getBlockByNumber' && params[0] === '0x0'
  const proxy = await startNodeProxy(devnet.url, {
    rule(calls) {
      if (requests === 0 && !calls.some(isProbe)) return { type: 'pass' }
      probed()
      return requests++ % 3 === 2 ? { type: 'pass' } : { type: 'refuse', status: 429, text: 'Too many' }
    },
  })
  return Object.assign(proxy, { isProbed })
}

function senderAt(url: string) {
  const { account, chain } = devnet.client(0)
  return createSender({
    client: createWalletClient({ account, chain, transport: http(url) }),
    store: memoryStore(),
  })
}

test('a sender closes while such a node has not opened its lane, and asks it no more', async () => {
  await using node = await openLimited()
  const sender = senderAt(node.url)
  const ready = sender.ready().catch((error: unknown) => error)
  await node.isProbed
  await sender.close()
  expect(await ready).toMatchObject({ code: 'CLOSED' })
  node.take()
  await expect(sender.ready()).rejects.toMatchObject({ code: 'CLOSED' })
  expect(node.take().requests).toBe(0)
})

test('Ctrl-C ends the payout while such a node has not opened its lane: the command says so', async () => {
  await using node = await openLimited()
  const folder = await mkdtemp(join(tmpdir(), 'txlane-limited-'))
  try {
    const path = join(folder, 'pay.csv')
    await writeFile(path, 'to,amount\n0x000000000000000000000000000000000000a11a,1 wei\n')
    const child = spawn(process.execPath, [program, 'send', path, '--yes'], {
      env: { PATH: process.env.PATH, TXLANE_RPC_URL: node.url, TXLANE_PRIVATE_KEY: accountKey(1) },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const end = ended(child)
    await node.isProbed
    child.kill('SIGINT')
    expect(await end).toMatchObject({ code: 130, out: expect.stringContaining('Interrupted.') })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
